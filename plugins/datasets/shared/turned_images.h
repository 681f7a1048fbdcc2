// Images that are turned upright by their EXIF orientation or moved by transforms, and belong to something that is not.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/examine.h"

namespace datasets {

class TurnedImages {
 public:
  // `unturned`: what belongs to each image and is not turned, such as "mask"; empty: at most other images of the
  // sample, which may have another orientation.
  explicit TurnedImages(std::string unturned)
      : has_unturned_(!unturned.empty()), other_(has_unturned_ ? std::move(unturned) : "other image of the sample") {}

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
  void warn(const formats::Finding& found, size_t examined) const {
    if (found.count() > 0) warn(found.print(examined));
  }

  // Runs ImagePipeline::examine() on the images of `samples` samples, `images` of each in a row, and warns.
  void examine(const tenon::draft::ImagePipeline& pipeline, size_t samples, size_t images,
               const tenon::draft::ImagePipeline::Open& open) const;

  bool have_unturned() const { return has_unturned_; }
  // Logs that transforms move the images, but not what belongs to them, if they do. `are_relative`: it is fractions of
  // the image's size, which scaling does not change. REQUIRES have_unturned().
  void warn_of_transforms(const tenon::draft::ImagePipeline& pipeline, bool are_relative) const;

  // The orientations of the images of one sample.
  struct Sample {
    bool has_turned = false;
    bool has_upright = false;
  };
  // Warns about an image that was read. `sample`: the earlier images of the sample.
  void check(Sample& sample, const tenon::draft::ImageInfo& info, const tenon::draft::ImageFile& image) const;

 private:
  bool has_unturned_;
  std::string other_;
  mutable std::atomic<bool> has_warned_ = false;
};

// Fields that hold positions in an image. The transforms and the EXIF orientation of the image do not move them.

// Whether some of the columns or fields seem to hold coordinates, by their names: x1, box_left, ymin, bbox2. A single
// "x" or "y" is often the target of a regression.
bool have_coordinates(const std::vector<std::string>& names);

// Whether an array seems to hold a value for each pixel, by its name: mask, depth_map.
bool is_pixel_map(const std::string& name);

}  // namespace datasets
