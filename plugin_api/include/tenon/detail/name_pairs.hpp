// Lists of two names, such as those of tied weights, in two forms: the author's texts, and the structs that are passed
// to the host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "guard.hpp"

namespace tenon::detail {

// `Pair` is a struct of two tenon_string. The structs borrow from the texts, which do not move with the object.
template <class Pair>
class NamePairs {
 public:
  NamePairs() = default;
  explicit NamePairs(std::vector<std::pair<std::string, std::string>> texts) : texts_(std::move(texts)) {
    for (const auto& [first, second] : texts_) pairs_.push_back({borrow(first), borrow(second)});
  }
  NamePairs(NamePairs&&) noexcept = default;
  NamePairs& operator=(NamePairs&&) noexcept = default;

  void hand_out(const Pair** pairs, uint64_t* count) const {
    *pairs = pairs_.data();
    *count = pairs_.size();
  }

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<Pair> pairs_;
};

}  // namespace tenon::detail
