// Examines some of the files of a dataset.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "framework/formats/strings.h"

namespace formats {

// What is the same in several files of a dataset, for one warning.
class Finding {
 public:
  void add(const std::string& example) {
    if (++count_ <= kShown) examples_.push_back(example);
  }

  size_t count() const { return count_; }

  // "5 of 32 examined images (a.png, b.png, c.png and 2 others)"
  std::string print(size_t examined) const {
    std::string text = join(examples_);
    if (count_ > kShown)
      text += " and " + std::to_string(count_ - kShown) + (count_ == kShown + 1 ? " other" : " others");
    return std::to_string(count_) + " of " + std::to_string(examined) + " examined images (" + text + ')';
  }

 private:
  static constexpr size_t kShown = 3;

  size_t count_ = 0;
  std::vector<std::string> examples_;
};

// Returns the k-th of all indices below `count`, in an order in which neighbours are far apart: a list that is sorted
// by class or by camera is covered after a few. The same index never comes twice.
inline size_t spread_index(size_t k, size_t count) {
  size_t stride = static_cast<size_t>(static_cast<double>(count) * 0.6180339887);  // the golden ratio
  while (stride > 1 && std::gcd(stride, count) != 1) --stride;
  if (stride == 0) stride = 1;
  return k * stride % count;
}

}  // namespace formats
