#include "framework/artifacts/run_folder/history.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/encode.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kOfHistory = support::ErrorKind::system;
const std::vector<std::string> kFixedColumns = {"event", "epoch", "step", "time_s"};
constexpr std::array kEvents{"step", "epoch", "validation", "checkpoint", "test"};

double round_to_microseconds(double time_s) { return std::round(time_s * 1e6) / 1e6; }

std::string format_csv_header(const std::vector<std::string>& columns) {
  return formats::join(columns, ",", quote_for_csv) + '\n';
}

// Writes each row of a CSV file followed by `ending`. The header has `header_bytes` bytes and may contain line breaks,
// because the name of a metric is any text. Rows are numbers without line breaks.
void copy_rows(const fs::path& csv, size_t header_bytes, const std::string& ending, DurableFile& to) {
  constexpr size_t kChunk = size_t{1} << 16;  // approximate bytes per write
  support::FileStream rows(csv, {kOfHistory});
  errno = 0;
  rows.seekg(static_cast<std::streamoff>(header_bytes));
  if (!rows) throw make_file_error(kOfHistory, csv, "cannot be read to add a column", errno);
  std::string piece;
  for (std::string row; std::getline(rows, row);) {
    piece += row + ending + '\n';
    if (piece.size() < kChunk) continue;
    to.write(piece);
    piece.clear();
  }
  if (!rows.eof()) throw make_file_error(kOfHistory, csv, "cannot be read to add a column", errno);
  to.write(piece);
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (support::retry_interrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
    throw make_file_error(kOfHistory, to, "cannot be replaced", errno);
}

// The members of a line in their order. Adding a key to an object of ordered_json visits all its keys, which is slow
// for thousands of metrics.
class LineReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Member = std::pair<std::string, nlohmann::json>;

  const std::vector<Member>& members() const { return members_; }

  const nlohmann::json& at(std::string_view key) const {
    const auto found = std::ranges::find(members_, key, &Member::first);
    if (found == members_.end()) throw std::invalid_argument(fmt::format("has no {}", key));
    return found->second;
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool start_array(size_t) override { refuse("a list"); }
  bool end_array() override { return true; }
  bool end_object() override { return true; }

  bool start_object(size_t) override {
    if (is_open_) refuse("an object");
    return is_open_ = true;
  }

  bool key(string_t& key) override {
    if (!keys_.insert(key).second) throw std::invalid_argument("has the key " + quote_name(key) + " twice");
    members_.emplace_back(std::move(key), nullptr);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    throw std::invalid_argument(error.what());
  }

 private:
  bool add(nlohmann::json value) {
    if (!is_open_) refuse("a value");
    members_.back().second = std::move(value);
    return true;
  }

  [[noreturn]] void refuse(const std::string& found) const {
    throw std::invalid_argument(is_open_ ? quote_name(members_.back().first) + " is " + found + "; expected a number"
                                         : "is " + found + "; expected an object");
  }

  std::vector<Member> members_;
  std::unordered_set<std::string> keys_;
  bool is_open_ = false;
};

int64_t read_count(const LineReader& line, const char* key) {
  const nlohmann::json& value = line.at(key);
  constexpr auto kLargest = static_cast<uint64_t>(INT64_MAX);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kLargest)
    throw std::invalid_argument(fmt::format("{} is {}; expected a whole number from 0 to 2^63 - 1", key,
                                            value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return value.get<int64_t>();
}

void check_names(const NamedMetrics& metrics) {
  std::set<std::string_view> names(kFixedColumns.begin(), kFixedColumns.end());
  for (const auto& [name, value] : metrics)
    TENON_CHECK(names.insert(name).second, "the metric " << name << " occurs twice or has the name of a fixed column");
}

}  // namespace

const char* to_string(HistoryEvent event) { return kEvents[static_cast<size_t>(event)]; }

std::string format_history_line(const HistoryLine& line) {
  std::string text =
      fmt::format("{{\"event\": \"{}\", \"epoch\": {}, \"step\": {}, \"time_s\": {}", to_string(line.event), line.epoch,
                  line.step, format_json_number(round_to_microseconds(line.time_s)));
  for (const auto& [name, value] : line.metrics)
    text += ", " + format_json_string(name) + ": " + format_json_number(value);
  return text + "}\n";
}

HistoryLine parse_history_line(std::string_view text) {
  HistoryLine line{};
  try {
    LineReader json;
    nlohmann::json::sax_parse(text.begin(), text.end(), &json);
    const std::string event = json.at("event").get<std::string>();
    const auto known = std::ranges::find(kEvents, event);
    if (known == kEvents.end()) throw std::invalid_argument("unknown event " + event);
    line.event = static_cast<HistoryEvent>(known - kEvents.begin());
    line.epoch = read_count(json, "epoch");
    line.step = read_count(json, "step");
    line.time_s = json.at("time_s").get<double>();
    for (const auto& [name, value] : json.members()) {
      if (std::ranges::find(kFixedColumns, name) != kFixedColumns.end()) continue;
      line.metrics.emplace_back(name,
                                value.is_string() ? parse_not_finite(value.get<std::string>()) : value.get<double>());
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(error.what());
  }
  return line;
}

bool is_mean_over_epoch(HistoryEvent event, std::string_view metric, const std::vector<std::string>& losses) {
  constexpr std::string_view kTrain = "train/";
  if (event != HistoryEvent::epoch || !metric.starts_with(kTrain)) return false;
  metric.remove_prefix(kTrain.size());
  return metric == "loss" || std::ranges::any_of(losses, [&](const std::string& loss) {
           return metric == loss || metric.starts_with(loss + ".");
         });
}

AppendedFile::AppendedFile(fs::path path, Opening opening) : path_(std::move(path)) {
  const int creation = opening == Opening::is_new ? O_CREAT | O_EXCL : 0;
  descriptor_ = support::FileDescriptor(support::retry_interrupted(
      [&] { return ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | creation, 0666); }));
  if (!descriptor_.is_open()) throw make_file_error(kOfHistory, path_, "cannot be opened", errno);
}

void AppendedFile::append(std::string_view text) {
  struct stat before;
  if (::fstat(descriptor_.number(), &before) != 0) throw make_file_error(kOfHistory, path_, "cannot be written", errno);
  const int error = write_fully(descriptor_.number(), std::as_bytes(std::span(text.data(), text.size())));
  if (error == 0) return;
  if (::ftruncate(descriptor_.number(), before.st_size) != 0)
    throw make_file_error(kOfHistory, path_, "cannot be written, and its last line is truncated", error);
  throw make_file_error(kOfHistory, path_, "cannot be written", error);
}

History::History(const fs::path& jsonl, const fs::path& csv)
    : csv_path_(csv), jsonl_(jsonl, AppendedFile::Opening::is_new), columns_(kFixedColumns) {
  write_csv([&] {
    csv_.emplace(csv, AppendedFile::Opening::is_new);
    csv_->append(format_csv_header(columns_));
  });
}

template <class Write>
void History::write_csv(const Write& write) {
  try {
    write();
  } catch (const support::Error& error) {
    csv_.reset();
    support::log_warning("{}. The run continues without this file; history.jsonl has all lines", error.what());
  }
}

// Writes to other names first, so that a crash leaves the earlier files intact.
History History::resume(const fs::path& from, int64_t lines, const fs::path& jsonl, const fs::path& csv) {
  const auto while_written = [](fs::path path) {
    path += ".resumed";
    std::error_code ignored;
    fs::remove(path, ignored);
    return path;
  };
  const auto new_jsonl = while_written(jsonl), new_csv = while_written(csv);
  History history(new_jsonl, new_csv);
  support::FileStream earlier(from, {support::ErrorKind::checkpoint, "a run's history"});
  for (std::string text; history.lines() < lines && std::getline(earlier, text);) {
    try {
      history.append(parse_history_line(text));
    } catch (const std::invalid_argument& error) {
      throw support::Error(support::ErrorKind::checkpoint,
                           "{}, line {}: {}; expected a history line: restore the file from a copy, or start a new run "
                           "with the checkpoint's model.safetensors as model.weights",
                           from.string(), history.lines() + 1, error.what());
    }
  }
  if (history.lines() < lines)
    throw support::Error(support::ErrorKind::checkpoint,
                         "{}: has {}; the checkpoint expects {} or more: restore the file from a copy, or start a new "
                         "run with the checkpoint's model.safetensors as model.weights",
                         from.string(), support::format_count(history.lines(), "line"), lines);
  if (history.csv_) history.write_csv([&] { rename_file(new_csv, csv); });
  rename_file(new_jsonl, jsonl);
  std::error_code ignored;
  fs::remove(new_csv, ignored);  // there if it could not be written or renamed
  history.csv_path_ = csv;
  return history;
}

void History::append(const HistoryLine& line) {
  check_names(line.metrics);
  jsonl_.append(format_history_line(line));
  ++lines_;
  if (csv_) write_csv([&] { append_to_csv(line); });
}

void History::append_to_csv(const HistoryLine& line) {
  const size_t first_new = columns_.size();
  for (const auto& [name, value] : line.metrics)
    if (places_.emplace(name, columns_.size()).second) columns_.push_back(name);
  if (columns_.size() > first_new) add_columns(first_new);
  csv_->append(format_row(line) + '\n');
}

// New rows have all columns. Earlier rows are read from the file and get empty values in the new columns.
void History::add_columns(size_t first_new) {
  const std::vector<std::string> old_columns(columns_.begin(), columns_.begin() + static_cast<ptrdiff_t>(first_new));
  const std::string empty(columns_.size() - first_new, ',');
  DurableFile replacement(csv_path_, kOfHistory);
  replacement.write(format_csv_header(columns_));
  copy_rows(csv_path_, format_csv_header(old_columns).size(), empty, replacement);
  replacement.commit();
  csv_.emplace(csv_path_, AppendedFile::Opening::is_there);
}

std::string History::format_row(const HistoryLine& line) const {
  std::vector<std::string> cells(columns_.size());
  cells[0] = to_string(line.event);
  cells[1] = std::to_string(line.epoch);
  cells[2] = std::to_string(line.step);
  cells[3] = format_number(round_to_microseconds(line.time_s));
  for (const auto& [name, value] : line.metrics) cells[places_.at(name)] = format_number(value);
  return formats::join(cells, ",");
}

}  // namespace tenon::artifacts
