// Prints one line per epoch: a row of a table that fits the terminal, or plain text elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

// "epoch 2/3  train/loss 0.25  validation/accuracy 0.975 *  time 12.3 s", with a line break.
std::string format_line(const EpochRow& row, bool has_colours = false);

// "1,234 samples/s" for the number "1,234", "1 sample/s" for "1".
std::string format_rate(const std::string& number);

}  // namespace tenon::callbacks
