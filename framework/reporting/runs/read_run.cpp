#include "framework/reporting/runs/read_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr auto kOfRuns = support::ErrorKind::checkpoint;

std::string read_run_text(const fs::path& file) { return support::read_file(file, {kOfRuns, "a file of a run"}); }

Json read_record(const fs::path& file) {
  Json record = Json::parse(read_run_text(file), nullptr, /*allow_exceptions=*/false);
  if (!record.is_object())
    throw support::Error(kOfRuns, "{}: is not a JSON object; expected a file written by a run", file.string());
  return record;
}

constexpr int kDeepestRun = 3;  // levels of folders: output_dir, run.name, run

void add_runs(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  if (has_run(folder)) return found.push_back(folder);
  if (depth == kDeepestRun) return;
  std::error_code error;  // a folder that cannot be listed has no runs that could be read
  for (const fs::path& path : support::list_folder(folder, error)) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored) && !path.filename().string().starts_with(".") && !fs::is_symlink(path, ignored))
      add_runs(path, depth + 1, found);
  }
}

}  // namespace

bool has_run(const fs::path& folder) {
  return artifacts::is_run_folder(folder) && support::path_exists(artifacts::RunFolder{folder}.plan_file());
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  std::vector<fs::path> found;
  add_runs(folder, 1, found);
  return found;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

ReadRun::ReadRun(const fs::path& folder) : folder_{folder} {
  if (!has_run(folder)) {
    const std::string found =
        support::is_folder(folder) ? "has no plan.toml and no checkpoints/" : support::describe_path(folder);
    throw support::Error(kOfRuns, "{}: {}; expected the folder of a run, such as runs/digits/2026-11-21T11-30-05{}",
                         support::format_path(folder), found, support::suggest_path(folder, support::is_folder));
  }
  record_ = read_record(folder_.record_file());
  plan_ = read_run_text(folder_.plan_file());
  values_ = config::flatten_plan(plan_, folder_.plan_file().string());
  history_ = read_history_so_far(folder_.history_jsonl());
  state_ = artifacts::has_crashed(folder) ? "crashed" : text("status");
}

std::string ReadRun::name() const {
  const fs::path path = support::find_canonical_or_absolute(folder_.root);
  return (path.parent_path().filename() / path.filename()).string();
}

std::string ReadRun::model() const {
  const auto found = values_.find("model.use");
  return found != values_.end() && found->second.as_string() ? *found->second.as_string() : "";
}

std::vector<std::string> ReadRun::losses() const {
  std::vector<std::string> names;
  for (const auto& [key, node] : values_)
    if (key.starts_with("loss[") && key.ends_with("].name") && node.as_string()) names.push_back(*node.as_string());
  return names;
}

std::string ReadRun::monitor() const { return text("monitor"); }

int64_t ReadRun::planned(const std::string& key) const {
  const auto found = values_.find(key);
  const int64_t* const number = found == values_.end() ? nullptr : std::get_if<int64_t>(&found->second.value);
  return number ? *number : 0;
}

std::vector<pipeline::StageSeconds> ReadRun::stages() const {
  constexpr double kLeast = 0.005;
  const auto all = record_.find("stages");
  if (all == record_.end() || !all->is_object()) return {};
  std::vector<pipeline::StageSeconds> stages;
  double sum = 0;
  for (const auto& [name, seconds] : all->items())
    if (seconds.is_number() && name != "other") stages.push_back({name, seconds.get<double>()});
  double rest = all->contains("other") && (*all)["other"].is_number() ? (*all)["other"].get<double>() : 0;
  for (const pipeline::StageSeconds& stage : stages) sum += stage.seconds;
  sum += rest;
  std::erase_if(stages, [&](const pipeline::StageSeconds& stage) {
    const bool is_small = stage.seconds < kLeast * sum;
    if (is_small) rest += stage.seconds;
    return is_small;
  });
  if (rest > 0) stages.push_back({"other", rest});
  std::ranges::stable_sort(stages, std::greater(), &pipeline::StageSeconds::seconds);
  return stages;
}

std::optional<ReadTest> ReadRun::test() const {
  const auto test = record_.find("test");
  if (test == record_.end() || !test->is_object()) return std::nullopt;
  const auto step = test->find("step"), monitor = test->find("monitor");
  if (step == test->end() || !step->is_number_integer() || monitor == test->end()) return std::nullopt;
  ReadTest read{monitor->is_string() ? monitor->get<std::string>() : "", step->get<int64_t>(), {}};
  for (const artifacts::HistoryLine& line : history_)
    if (line.event == artifacts::HistoryEvent::test)
      read.metrics.insert(read.metrics.end(), line.metrics.begin(), line.metrics.end());
  return read;
}

int ReadRun::direction(const std::string& metric) const {
  if (const auto all = record_.find("directions"); all != record_.end() && all->is_object())
    if (const auto one = all->find(metric); one != all->end()) return *one == "max" ? 1 : -1;
  return 0;
}

std::optional<MetricAt> ReadRun::last(const std::string& metric) const {
  for (auto line = history_.rbegin(); line != history_.rend(); ++line)
    for (const auto& [name, value] : line->metrics)
      if (name == metric) return MetricAt{value, line->step};
  return std::nullopt;
}

std::optional<MetricAt> ReadRun::best(const std::string& metric) const {
  const int sign = direction(metric);
  std::optional<MetricAt> best;
  if (sign == 0) return best;
  for (const artifacts::HistoryLine& line : history_)
    for (const auto& [name, value] : line.metrics)
      if (name == metric && std::isfinite(value) && (!best || sign * value > sign * best->value))
        best = MetricAt{value, line.step};
  return best;
}

std::vector<std::string> ReadRun::metrics() const {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const artifacts::HistoryLine& line : history_)
    for (const auto& [name, value] : line.metrics)
      if (known.insert(name).second) names.push_back(name);
  return names;
}

std::vector<artifacts::HistoryLine> read_history(const std::filesystem::path& file) {
  support::FileStream stream(file, {kOfRuns, "a run's history"});
  std::vector<artifacts::HistoryLine> lines;
  for (std::string line; std::getline(stream, line);) {
    try {
      lines.push_back(artifacts::parse_history_line(line));
    } catch (const std::invalid_argument& error) {
      throw support::Error(kOfRuns, "{}: line {}: {}; expected a line of a run's history", file.string(),
                           lines.size() + 1, error.what());
    }
  }
  if (lines.empty()) throw support::Error(kOfRuns, "{}: has no line; expected a run's history", file.string());
  return lines;
}

std::vector<artifacts::HistoryLine> read_history_so_far(const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) == 0 || error == std::errc::no_such_file_or_directory) return {};
  return read_history(file);
}

}  // namespace tenon::reporting
