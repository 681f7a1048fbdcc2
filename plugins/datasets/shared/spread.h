// Chooses samples to examine, which are spread over a whole list.
#pragma once

#include <cstddef>
#include <numeric>

namespace datasets {

// Returns the k-th of all indices below `count`, in an order in which neighbours are far apart: a list that is sorted
// by class or by camera is covered after a few. The same index never comes twice.
inline size_t spread_index(size_t k, size_t count) {
  size_t stride = static_cast<size_t>(static_cast<double>(count) * 0.6180339887);  // the golden ratio
  while (stride > 1 && std::gcd(stride, count) != 1) --stride;
  if (stride == 0) stride = 1;
  return k * stride % count;
}

}  // namespace datasets
