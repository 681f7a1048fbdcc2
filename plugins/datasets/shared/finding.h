// What is the same in several files of a dataset, for one warning.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace datasets {

class Finding {
 public:
  void add(const std::string& example) {
    if (++count_ <= kShown) examples_.push_back(example);
  }

  size_t count() const { return count_; }

  // "5 of 32 examined images (a.png, b.png, c.png and 2 others)"
  std::string print(size_t examined) const {
    std::string text;
    for (const std::string& example : examples_) text += (text.empty() ? "" : ", ") + example;
    if (count_ > kShown)
      text += " and " + std::to_string(count_ - kShown) + (count_ == kShown + 1 ? " other" : " others");
    return std::to_string(count_) + " of " + std::to_string(examined) + " examined images (" + text + ')';
  }

 private:
  static constexpr size_t kShown = 3;

  size_t count_ = 0;
  std::vector<std::string> examples_;
};

}  // namespace datasets
