// A confusion matrix, rendered as SVG for a page with chart_style() in its style sheet.
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
  std::vector<Cell> cells;              // cells with a count above 0
  std::vector<std::string> names = {};  // of the classes; empty: only their numbers are known

  int64_t total() const;
  int64_t correct() const;
  std::vector<int64_t> by_target() const;     // [classes]: number of samples with this target
  std::vector<int64_t> by_predicted() const;  // [classes]
  // Returns the most frequent confusions, at most `most`.
  std::vector<Cell> find_misclassified(size_t most) const;
  // Returns the Jaccard index of each class, "intersection over union" for masks. NaN for a class without targets and
  // predictions.
  std::vector<double> intersections_over_unions() const;
};

inline constexpr int64_t kMaxPlottedClasses = 100;

// Returns an <svg> element, labelled with the names or numbers of classes. Rows are targets, columns are predictions. A
// darker cell has a larger share of its row. Cells contain their counts if there is room. REQUIRES: at most
// kMaxPlottedClasses classes.
std::string draw_confusion(const Confusion& confusion);

}  // namespace tenon::artifacts
