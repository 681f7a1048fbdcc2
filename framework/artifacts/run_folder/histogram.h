// A histogram of the values of a tensor.
#pragma once

#include <string>
#include <vector>

namespace tenon::artifacts {

struct Histogram {
  double smallest;
  double largest;
  double sum;
  double sum_of_squares;
  std::vector<double> limits;  // the upper end of each bin, ascending
  std::vector<double> counts;  // number of values in each bin
};

struct NamedHistogram {
  std::string name;  // "weights/conv.weight"
  Histogram histogram;
};

}  // namespace tenon::artifacts
