// The classes in masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

namespace segmentation {

// The classes that the numbers in masks stand for.
class MaskClasses {
 public:
  // `classes`, `ignore_index` and `values`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error if `values` does not have a number for each class.
  explicit MaskClasses(const tenon::Params& params);

  int64_t count() const { return count_; }
  int ignore_index() const { return ignore_index_; }

  // Writes the classes of the numbers of a mask, and ignore_index for those to ignore. Throws tenon::DataError naming
  // `path` and the first pixel that is neither.
  void replace_numbers(const tenon::draft::Pixels& mask, const std::string& path, std::vector<uint8_t>& classes) const;

  // Returns a mask, or none if it cannot be read.
  using Read = std::function<std::optional<tenon::draft::Pixels>(size_t number)>;

  // Reads masks, spread over all of them, until a pixel of each class was found, or about 50 million pixels. Logs which
  // classes no mask has. Throws tenon::DataError that starts with `place` if the masks hold other numbers than the
  // classes, as many as there are classes.
  void examine(size_t masks, const Read& read, const std::string& place) const;

 private:
  // `found`: the number of pixels by the number that they hold.
  std::vector<int> list_missing(const std::array<size_t, 256>& found) const;
  void warn_of_ignored(const std::array<size_t, 256>& found, const std::string& place) const;
  void check_meaning(const std::vector<int>& numbers, const std::string& holds) const;

  int64_t count_;
  int ignore_index_;
  bool is_mapped_;
  std::array<int, 256> classes_;  // the class of each number, ignore_index_, or -1
};

}  // namespace segmentation
