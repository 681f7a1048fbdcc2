// Prints one line per epoch on the terminal: a table row with the best metrics marked, or plain text if the table is
// too wide.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/state/run_state.h"

namespace tenon::callbacks {

// Tracks the best value of each metric so far, according to its direction.
class BestSoFar {
 public:
  // Whether the value is better than all previous ones. The first value is; NaN never is.
  bool add(const std::string& metric, double value, const std::map<std::string, int32_t>& directions);

 private:
  std::map<std::string, double> best_;
};

struct EpochRow {
  struct Cell {
    std::string name;
    std::string text;
    bool is_best = false;
  };
  std::string epoch;  // "2/3"
  std::vector<Cell> cells;
};

class EpochTable {
 public:
  // Returns the row as lines of at most `width` columns, each with a line break. The column names are printed above it
  // if they have changed since the previous row. If the table does not fit, returns print_line(). ASCII only.
  std::string add(const EpochRow& row, size_t width);

 private:
  void widen_columns(const EpochRow& row);
  size_t width() const;

  std::vector<std::pair<std::string, size_t>> columns_;  // name and width, without the epoch column
  bool has_names_ = false;                               // the last row was printed below its column names
};

// "epoch 2/3  train/loss 0.25  validation/accuracy 0.975 *  lr 0.001", with a line break.
std::string print_line(const EpochRow& row);

}  // namespace tenon::callbacks
