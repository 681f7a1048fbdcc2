// The files that a list names, checked before the first sample is read.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <tenon/plugin.hpp>

namespace datasets {

class ListedPaths {
 public:
  // Declares `missing_files`.
  static tenon::Param parameter();

  // `list`: the path of the list, for messages.
  explicit ListedPaths(std::string list) : list_(std::move(list)) {}

  // Looks whether there is a file at the path. `place`: its line in the list.
  void add(const std::string& path, const std::string& place);

  // Throws tenon::DataError with the number of missing files, the first three and what may be wrong; or logs it as a
  // warning, if `missing_files` is "warn".
  void check(const std::string& missing_files) const;

 private:
  std::string list_;
  size_t listed_ = 0;
  size_t missing_ = 0;
  std::string first_;     // path
  std::string examples_;  // at most three, with their places
};

}  // namespace datasets
