// What is left on the terminal of each epoch: a row of a table with the best figures marked, or a line where the table is
// too wide.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/run_state.h"

namespace tenon::callbacks {

// Which figures are the best of those that were seen so far, as their directions say what is better.
class BestSoFar {
 public:
  // Whether the value is better than all before it. A first one is, NaN never.
  bool add(const std::string& figure, double value, const std::map<std::string, int32_t>& directions);

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
  // The row, below the names of the columns where they are not those of the row before, in lines of at most `width`
  // columns, each with a line break; or as print_line() where that is too little. ASCII alone.
  std::string add(const EpochRow& row, size_t width);

 private:
  void make_room(const EpochRow& row);
  size_t width() const;

  std::vector<std::pair<std::string, size_t>> columns_;  // name and width, without epoch
  bool has_names_ = false;                               // they stand above the last row
};

// "epoch 2/3  train/loss 0.25  validation/accuracy 0.975 *  lr 0.001", with a line break.
std::string print_line(const EpochRow& row);

}  // namespace tenon::callbacks
