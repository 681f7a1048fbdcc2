// Which class was taken for which, as a picture in SVG for a page whose style sheet has chart_style().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct Confusion {
  struct Cell {
    int64_t target;
    int64_t predicted;
    int64_t count;  // above 0
  };
  int64_t classes;
  std::vector<Cell> cells;  // those that are not 0

  int64_t total() const;
  int64_t correct() const;
  std::vector<int64_t> by_target() const;     // [classes]: how often each was the target
  std::vector<int64_t> by_predicted() const;  // [classes]
  // The most frequent mistakes, at most so many.
  std::vector<Cell> find_mistakes(size_t most) const;
  // Of each class: how often it was both, over how often it was either; NaN for a class that is in neither. The Jaccard
  // index, "intersection over union" of masks.
  std::vector<double> intersections_over_unions() const;
};

inline constexpr int64_t kMostDrawnClasses = 100;

// An <svg> element, a square a class: rows are targets, columns predictions, and the darker a cell the larger its share
// of the row. With the counts in it where there is room for them. REQUIRES: at most kMostDrawnClasses classes.
std::string draw_confusion(const Confusion& confusion);

}  // namespace tenon::artifacts
