// Images that are turned upright by their EXIF orientation, and belong to something that is not turned.
#pragma once

#include <atomic>
#include <string>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/finding.h"

namespace datasets {

class TurnedImages {
 public:
  // `other`: what belongs to an image: "mask".
  explicit TurnedImages(std::string other) : other_(std::move(other)) {}

  // `image 1.jpg (orientation 6)`
  static std::string print(const std::string& image, int orientation) {
    return image + " (orientation " + std::to_string(orientation) + ')';
  }

  // Logs the first call of all threads. `found`: images, as print().
  void warn(const std::string& found) const {
    if (has_warned_.exchange(true)) return;
    tenon::log_warning("turned upright by the EXIF orientation, unlike the " + other_ + ": " + found +
                       "; expected the " + other_ +
                       " to fit the upright image; if it fits the pixels as stored, remove the orientation: exiftool "
                       "-Orientation= -overwrite_original FILES");
  }
  void warn(const Finding& found, size_t examined) const {
    if (found.count() > 0) warn(found.print(examined));
  }

 private:
  std::string other_;
  mutable std::atomic<bool> has_warned_ = false;
};

}  // namespace datasets
