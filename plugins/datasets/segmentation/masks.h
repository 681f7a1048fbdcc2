// Masks: PNG files that store class numbers as pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/plugin.hpp>

#include "plugins/images/decode/decode_image.h"

namespace segmentation {

// Buffers that a thread reuses for every mask.
struct MaskBuffers {
  std::vector<uint8_t> file;
  std::vector<uint8_t> grey;
  images::Decoder decoder;
  cv::Mat numbers;
  int orientation = 1;  // EXIF, of the mask; it is turned upright
};

// Returns the upright mask with the numbers as stored: grey levels without scaling, or palette indices. The palette's
// colours are ignored. The file has 1, 2, 4 or 8 bits. The result has 8 bits and one channel. It belongs to `buffers`
// and is valid until the next mask. Throws tenon::DataError naming the file if it is not a PNG, has colours, alpha or
// 16 bits, or is damaged.
cv::Mat& read_mask(const std::string& path, const images::Limits& limits, MaskBuffers& buffers);

// The classes that the numbers in masks stand for.
class MaskClasses {
 public:
  // `classes`, `ignore_index` and `values`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error if `values` does not have a number for each class.
  explicit MaskClasses(const tenon::Params& params);

  int64_t count() const { return count_; }
  int ignore_index() const { return ignore_index_; }

  // Replaces the numbers of a mask by their classes, and those to ignore by ignore_index. Throws tenon::DataError
  // naming `path` and the first pixel that is neither.
  void replace_numbers(cv::Mat& mask, const std::string& path) const;

  // Reads masks, spread over all of them, until a pixel of each class was found, or about 50 million pixels. `read(i)`
  // returns mask i, or null if it cannot be read. Logs which classes no mask has. Throws tenon::DataError that starts
  // with `place` if the masks hold other numbers than the classes, as many as there are classes.
  void examine(size_t masks, const std::function<const cv::Mat*(size_t)>& read, const std::string& place) const;

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
