// How the values of a tensor are spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct Histogram {
  double smallest;
  double largest;
  double sum;
  double sum_of_squares;
  std::vector<double> limits;  // the upper end of each bin, ascending
  std::vector<double> counts;  // of each bin
};

struct NamedHistogram {
  std::string name;  // "weights/conv.weight"
  Histogram histogram;
};

}  // namespace tenon::artifacts
