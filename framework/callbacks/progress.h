// Shows the progress of a run: a bar and a table of epochs on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "framework/pipeline/state/events.h"
#include "framework/support/text/terminal.h"

namespace tenon::callbacks {

struct EpochRow {
  struct Cell {
    std::string name;
    std::string text;
    int importance;  // if the terminal is too narrow, columns with larger values are left out first
    bool is_best = false;
    bool is_optional = false;  // if the column is left out, it is not named
  };
  std::string epoch;  // "2/3"
  std::vector<Cell> cells;
};

// Prints one line per epoch: a row of a table that fits the terminal.
class EpochTable {
 public:
  // With colours, the names of columns are bold and the best values green.
  explicit EpochTable(bool has_colours = false) : has_colours_(has_colours) {}

  // Returns the row as lines of less than `width` columns, each with a line break. The column names are printed above
  // it if they have changed since the previous row, and again after some rows. ASCII only.
  std::string add(const EpochRow& row, size_t width);

 private:
  struct Column {
    std::string name;
    size_t width;
    int importance;
    bool is_optional;
    bool has_mark;  // a value was marked as best
    bool is_shown;
  };

  void widen_columns(const EpochRow& row);
  void select_columns(size_t width);
  std::string format_names(size_t width) const;
  std::string format_values(const EpochRow& row) const;

  bool has_colours_;
  std::vector<Column> columns_;  // without the epoch column
  size_t epoch_width_ = 5;
  bool has_names_ = false;  // the last row was printed below its column names
  size_t rows_ = 0;         // since the column names
};

class Progress final : public pipeline::Observer {
 public:
  // A text next to the bar. If the terminal is too narrow, parts with larger values are left out first.
  struct BarPart {
    std::string text;
    int importance;
  };

  // If `stream` is a terminal (isatty), draws a bar with the terminal's current width.
  explicit Progress(std::FILE* stream);

  // Marks the best values of this metric. `metric` is the one that selects the best checkpoint.
  void set_monitor(const std::string& metric, bool is_larger_better);
  // Adds metrics of an earlier part of the run. Later values are only marked as best if they are better.
  void add_earlier(const pipeline::MetricValues& metrics);

  bool subscribes(pipeline::Event event) const override;
  std::string name() const override { return "progress"; }
  // After the callbacks of plugins, so that their changes are shown.
  int32_t priority() const override { return 1000; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;

 private:
  void draw_training(const pipeline::RunState& state);
  void draw_validation(const pipeline::RunState& state);
  void print_first_loss(const pipeline::FirstLoss& loss);
  void print_log_line(const pipeline::RunState& state);
  bool skips_row(const pipeline::RunState& state);
  void print_epoch(const pipeline::RunState& state);
  void print_row(const pipeline::RunState& state);
  bool is_time_to_draw();
  void draw(const std::string& label, int64_t done, int64_t total, const std::vector<BarPart>& parts);
  void print(const std::string& lines);  // without control characters other than those of styles
  std::string style(const std::string& text, support::Style style) const;
  void erase();
  static double samples_per_second(const pipeline::RunState& state);
  bool update_best(const std::string& name, double value);

  std::FILE* stream_;
  std::string monitor_;  // empty: none
  bool is_larger_better_ = false;
  std::optional<double> best_;  // of the monitored metric so far
  bool has_colours_;
  EpochTable epochs_;
  bool is_terminal_;
  bool has_unicode_;
  bool is_shown_ = false;
  bool has_first_loss_ = false;  // the initial loss was printed
  bool skips_rows_ = false;      // the note about it was printed
  bool is_row_missing_ = false;  // of the last epoch
  std::chrono::steady_clock::time_point last_shown_{};
};

// "0:07", "12:40", "3:05:00".
std::string format_duration(double seconds);
// A time that has passed: "0.042 s", "7.31 s", "12:40", "3:05:00".
std::string format_elapsed(double seconds);
// Four significant digits in the shortest form: "0.3121", "1.234e-05", "97.5".
std::string format_metric(double value);

// "epoch 2/3  train/loss 0.25  validation/accuracy 0.975 *  time 12.3 s", with a line break.
std::string format_line(const EpochRow& row, bool has_colours = false);

// "1,234 samples/s" for the number "1,234", "1 sample/s" for "1".
std::string format_rate(const std::string& number);

}  // namespace tenon::callbacks
