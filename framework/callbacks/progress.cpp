#include "framework/callbacks/progress.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "framework/formats/strings.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"
#include "framework/support/text/terminal.h"

namespace tenon::callbacks {

using pipeline::Event;
using pipeline::RunState;

namespace {

constexpr size_t kShortBar = 8;
constexpr auto kRedraw = std::chrono::milliseconds(100);

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value)
      return strcasestr(value, "utf-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  return false;
}

std::string with_separators(double number) { return support::group_digits(std::llround(number)); }

std::string count_of(const char* what, int64_t done, int64_t total) {
  return fmt::format("{} {}/{}", what, done, total);
}

// "  validation/loss 0.08  validation/accuracy 0.977": the latest metrics with names that start with the prefix.
std::string metrics_of(const RunState& state, const std::string& prefix) {
  std::string text;
  for (const auto& [name, value] : state.metrics)
    if (name.starts_with(prefix)) text += "  " + name + " " + format_metric(value);
  return text;
}

// In bytes, of this process.
uint64_t read_peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// "data 12 %": the share of time that training waited for batches; "" if it is small.
std::string data_share_of(const RunState& state) {
  const double share = state.time_s > 0 ? state.data_wait_s / state.time_s : 0;
  return share < 0.05 ? "" : fmt::format("data {} %", std::llround(100 * share));
}

// "  train/loss 0.25  0:30 left": the most important parts that fit, in their order.
std::string select_parts(const std::vector<Progress::BarPart>& parts, size_t width) {
  std::vector<const Progress::BarPart*> by_importance;
  for (const Progress::BarPart& part : parts) by_importance.push_back(&part);
  std::ranges::stable_sort(by_importance, {}, &Progress::BarPart::importance);
  std::set<const Progress::BarPart*> selected;
  size_t used = 0;
  for (const Progress::BarPart* const part : by_importance) {
    if (used + 2 + part->text.size() > width) continue;
    used += 2 + part->text.size();
    selected.insert(part);
  }
  std::string text;
  for (const Progress::BarPart& part : parts)
    if (selected.contains(&part)) text += "  " + part.text;
  return text;
}

constexpr const char* kBest = " *";
constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 7;        // of a number with four digits
constexpr size_t kRowsBelowNames = 20;  // so that the names are still on the screen

std::string without_blanks_at_end(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

// "(too narrow for samples/s, train/learning_rate)" in less than `width` columns: the names that fit, and the number of
// the others.
std::string describe_hidden(const std::vector<std::string>& names, size_t width) {
  for (size_t shown = names.size();; --shown) {
    std::string text = "(too narrow for " + formats::join(std::span(names).first(shown));
    const auto others = static_cast<int64_t>(names.size() - shown);
    if (others > 0) text += shown > 0 ? fmt::format(" and {} more", others) : support::format_count(others, "column");
    if (text.size() + 1 < width) return text + ")\n";
    if (shown == 0) return "";
  }
}

}  // namespace

std::string format_duration(double seconds) {
  const long long whole = std::isfinite(seconds) && seconds > 0 ? std::llround(seconds) : 0;
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string format_metric(double value) { return fmt::format("{:.4g}", value); }

std::string format_elapsed(double seconds) {
  if (seconds >= 60 || !(seconds >= 0)) return format_duration(seconds);
  if (seconds < 0.0005) return "0 s";
  return seconds < 0.0995 ? fmt::format("{:.3f} s", seconds) : fmt::format("{:#.3g} s", seconds);
}

Progress::Progress(std::FILE* stream)
    : stream_(stream),
      has_colours_(support::has_colours(stream)),
      epochs_(has_colours_),
      is_terminal_(isatty(fileno(stream)) == 1),
      has_unicode_(locale_is_utf8()) {}

bool Progress::subscribes(Event event) const {
  switch (event) {
    case Event::log:
    case Event::epoch_end:
    case Event::run_exception:
    case Event::run_end: return true;
    case Event::step_end:
    case Event::validation_batch_end: return is_terminal_;
    default: return false;
  }
}

void Progress::on_event(Event event, const RunState& state, pipeline::CallbackRequests&) {
  if (!has_first_loss_ && state.first_loss) print_first_loss(*state.first_loss);
  switch (event) {
    case Event::step_end: draw_training(state); break;
    case Event::log: print_log_line(state); break;
    case Event::validation_batch_end: draw_validation(state); break;
    case Event::epoch_end: print_epoch(state); break;
    // A run that stops early ends with the row of its last epoch.
    case Event::run_end:
      if (is_row_missing_) print_row(state);
      erase();
      break;
    default: erase(); break;
  }
}

double Progress::samples_per_second(const RunState& state) {
  const double seconds = state.time_s - state.epoch_start_s - state.epoch_validation_s;
  return seconds > 0 ? static_cast<double>(state.samples_in_epoch) / seconds : 0;
}

bool Progress::is_time_to_draw() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_shown_ < kRedraw) return false;
  last_shown_ = now;
  return true;
}

void Progress::draw_training(const RunState& state) {
  if (!is_time_to_draw()) return;
  const double seconds_per_step = state.step > 0 ? state.time_s / static_cast<double>(state.step) : 0;
  const double left_s = seconds_per_step * static_cast<double>(state.total_steps - state.step);
  std::vector<BarPart> parts{{"train/loss " + format_metric(state.read_epoch_loss()), 0}};
  if (const auto metric = state.metrics.find(monitor_); metric != state.metrics.end())
    parts.push_back({metric->first + " " + format_metric(metric->second), 3});
  parts.push_back({"train/learning_rate " + format_metric(state.learning_rate), 6});
  parts.push_back({format_rate(with_separators(samples_per_second(state))), 2});
  if (const std::string share = data_share_of(state); !share.empty()) parts.push_back({share, 2});
  parts.push_back({support::format_bytes(read_peak_memory()), 5});
  parts.push_back({format_duration(left_s) + " left", 1});
  draw(count_of("epoch", state.epoch, state.total_epochs), state.step_in_epoch, state.steps_per_epoch, parts);
}

void Progress::draw_validation(const RunState& state) {
  if (is_time_to_draw()) draw(state.validation_name, state.validation_batch, state.validation_batches, {});
}

// All text is ASCII, so bytes equal columns.
void Progress::draw(const std::string& label, int64_t done, int64_t total, const std::vector<BarPart>& parts) {
  // Some terminals would wrap in the last column, and the terminal adds "^C" when one interrupts.
  constexpr size_t kFree = 3;
  const size_t columns = support::find_terminal_width(stream_), width = columns - std::min(columns, kFree);
  const std::string count = fmt::format(" {}/{}", done, total);
  const size_t fixed = label.size() + count.size();
  const std::string details = select_parts(parts, width > fixed + kShortBar + 1 ? width - fixed - kShortBar - 1 : 0);
  const size_t text_width = fixed + details.size() + 1;
  const size_t bar_width = width >= text_width + kShortBar ? std::min<size_t>(30, width - text_width) : 0;
  const auto filled = static_cast<size_t>(static_cast<double>(bar_width) * static_cast<double>(done) /
                                          static_cast<double>(std::max<int64_t>(total, 1)));
  const std::string done_part = fmt::format(fmt::runtime(has_unicode_ ? "{:█<{}}" : "{:#<{}}"), "", filled);
  const std::string rest = fmt::format(fmt::runtime(has_unicode_ ? "{:░<{}}" : "{:.<{}}"), "", bar_width - filled);
  const auto escape = support::escape_control_characters;
  const std::string line = bar_width == 0 ? escape((label + count).substr(0, width))
                                          : escape(label) + " " + style(done_part, support::Style::green) +
                                                style(rest, support::Style::faint) + escape(count + details);
  std::fprintf(stream_, "\r\033[K%s", line.c_str());
  std::fflush(stream_);
  is_shown_ = true;
}

void Progress::print_first_loss(const pipeline::FirstLoss& loss) {
  has_first_loss_ = true;
  print(support::escape_control_characters(pipeline::describe(loss)) + "\n");
}

// On a terminal the bar already shows all this.
void Progress::print_log_line(const RunState& state) {
  if (is_terminal_) return;
  print(fmt::format("{}  {}{}  {}\n", count_of("step", state.step, state.total_steps),
                    count_of("epoch", state.epoch, state.total_epochs),
                    support::escape_control_characters(metrics_of(state, "train/")),
                    format_rate(with_separators(samples_per_second(state)))));
}

// On a terminal, a long run prints some epochs only; the bar shows the others.
bool Progress::skips_row(const RunState& state) {
  constexpr int64_t kMostRows = 50;
  const int64_t stride = (state.total_epochs + kMostRows - 1) / kMostRows;
  if (!is_terminal_ || stride < 2 || state.epoch % stride == 0 || state.epoch == state.total_epochs) return false;
  if (!std::exchange(skips_rows_, true))
    print(fmt::format("one of {} epochs is shown; history.csv has all {}\n", stride, state.total_epochs));
  if (const auto metric = state.metrics.find(monitor_);
      metric != state.metrics.end() && state.validated_step == state.step)
    update_best(monitor_, metric->second);
  return true;
}

void Progress::print_epoch(const RunState& state) {
  is_row_missing_ = skips_row(state);
  if (!is_row_missing_) print_row(state);
}

void Progress::print_row(const RunState& state) {
  // The monitored metric comes first, then loss and time.
  enum Importance { kMonitored, kLoss, kTime, kValidationLoss, kValidation, kTraining, kLearningRate, kSpeed };
  EpochRow row{fmt::format("{}/{}", state.epoch, state.total_epochs), {}};
  const auto add = [&](const std::string& name, double value, Importance importance) {
    row.cells.push_back({support::escape_control_characters(name), format_metric(value),
                         name == monitor_ ? kMonitored : importance, update_best(name, value)});
  };
  if (const auto loss = state.metrics.find("train/loss"); loss != state.metrics.end())
    add(loss->first, loss->second, kLoss);
  for (const std::string& name : state.epoch_metrics)
    if (const auto metric = state.metrics.find(name); metric != state.metrics.end())
      add(name, metric->second, kTraining);
  if (state.validated_step == state.step)
    for (const auto& [name, value] : state.metrics)
      if (name.starts_with("validation/")) add(name, value, name.ends_with("/loss") ? kValidationLoss : kValidation);
  // These two are optional: the history has the first, and the bar shows the second.
  add("train/learning_rate", state.learning_rate, kLearningRate);
  row.cells.back().is_optional = true;
  row.cells.push_back({"samples/s", with_separators(samples_per_second(state)), kSpeed, false, true});
  row.cells.push_back({"time", format_elapsed(state.time_s - state.epoch_start_s), kTime});
  print(is_terminal_ ? epochs_.add(row, support::find_terminal_width(stream_))
                     : callbacks::format_line(row, has_colours_));
}

bool Progress::update_best(const std::string& name, double value) {
  if (name != monitor_ || std::isnan(value)) return false;
  if (best_ && !(is_larger_better_ ? value > *best_ : value < *best_)) return false;
  best_ = value;
  return true;
}

void Progress::set_monitor(const std::string& metric, bool is_larger_better) {
  monitor_ = metric;
  is_larger_better_ = is_larger_better;
}

void Progress::add_earlier(const pipeline::MetricValues& metrics) {
  if (const auto metric = metrics.find(monitor_); metric != metrics.end()) update_best(monitor_, metric->second);
}

void Progress::print(const std::string& lines) {
  erase();
  std::fputs(lines.c_str(), stream_);
  std::fflush(stream_);
}

std::string Progress::style(const std::string& text, support::Style style) const {
  return has_colours_ ? support::add_style(text, style) : text;
}

void Progress::erase() {
  if (!is_shown_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  is_shown_ = false;
}

void EpochTable::widen_columns(const EpochRow& row) {
  if (row.epoch.size() > epoch_width_) has_names_ = false;
  epoch_width_ = std::max(epoch_width_, row.epoch.size());
  auto next = columns_.begin();  // position for a cell without a column: after the previous cell's
  for (const EpochRow::Cell& cell : row.cells) {
    const size_t needed = std::max({kNarrowest, cell.name.size(), cell.text.size()});
    auto column = std::ranges::find(columns_, cell.name, &Column::name);
    if (column == columns_.end())
      column = columns_.insert(next, {cell.name, 0, cell.importance, cell.is_optional, false, false});
    if (column->width < needed || (cell.is_best && !column->has_mark)) has_names_ = false;
    column->width = std::max(column->width, needed);
    column->has_mark = column->has_mark || cell.is_best;
    next = column + 1;
  }
}

// Shows the most important columns that fit.
void EpochTable::select_columns(size_t width) {
  std::vector<Column*> by_importance;
  for (Column& column : columns_) by_importance.push_back(&column);
  std::ranges::stable_sort(by_importance, {}, &Column::importance);
  size_t used = epoch_width_ + 1;  // one column stays free because some terminals would wrap
  for (Column* const column : by_importance) {
    const size_t needed = kGap + column->width + (column->has_mark ? 2 : 0);
    const bool fits = used + needed <= width;
    if (fits) used += needed;
    if (fits != column->is_shown) has_names_ = false;
    column->is_shown = fits;
  }
}

std::string EpochTable::add(const EpochRow& row, size_t width) {
  widen_columns(row);
  select_columns(width);
  const bool needs_names = !has_names_ || rows_ >= kRowsBelowNames;
  rows_ = needs_names ? 1 : rows_ + 1;
  has_names_ = true;
  return (needs_names ? format_names(width) : "") + format_values(row);
}

std::string EpochTable::format_names(size_t width) const {
  std::string names = fmt::format("{:<{}}", "epoch", epoch_width_);
  std::vector<std::string> hidden;
  for (const Column& column : columns_) {
    if (column.is_shown)
      names += fmt::format("  {:>{}}{}", column.name, column.width, column.has_mark ? "  " : "");
    else if (!column.is_optional)
      hidden.push_back(column.name);
  }
  names = without_blanks_at_end(names);
  return (hidden.empty() ? "" : describe_hidden(hidden, width)) +
         (has_colours_ ? support::add_style(names, support::Style::bold) : names) + "\n";
}

std::string EpochTable::format_values(const EpochRow& row) const {
  std::string line = fmt::format("{:<{}}", row.epoch, epoch_width_);
  for (const Column& column : columns_) {
    if (!column.is_shown) continue;
    const auto cell = std::ranges::find(row.cells, column.name, &EpochRow::Cell::name);
    const bool is_there = cell != row.cells.end();
    const bool is_best = is_there && cell->is_best;
    std::string text = fmt::format("{:>{}}", is_there ? cell->text : "", column.width);
    if (column.has_mark) text += is_best ? kBest : "  ";
    line += std::string(kGap, ' ') + (has_colours_ && is_best ? support::add_style(text, support::Style::green) : text);
  }
  return without_blanks_at_end(line) + "\n";
}

std::string format_line(const EpochRow& row, bool has_colours) {
  std::string line = "epoch " + row.epoch;
  for (const EpochRow::Cell& cell : row.cells) {
    // Speed reads better after the number.
    std::string text = cell.name == "samples/s" ? format_rate(cell.text) : cell.name + " " + cell.text;
    if (cell.is_best) text += kBest;
    line += "  " + (has_colours && cell.is_best ? support::add_style(text, support::Style::green) : text);
  }
  return line + "\n";
}

std::string format_rate(const std::string& number) { return number + (number == "1" ? " sample/s" : " samples/s"); }

}  // namespace tenon::callbacks
