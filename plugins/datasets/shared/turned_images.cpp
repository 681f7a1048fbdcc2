#include "plugins/datasets/shared/turned_images.h"

#include <memory>

namespace datasets {

void TurnedImages::examine(const ImageReader& reader, size_t samples, size_t images,
                           const ImageReader::Open& open) const {
  const auto examined = reader.examine(samples * images, open);
  const auto differs = [&](size_t number, int orientation) {
    const size_t first = number - number % images;
    for (size_t other = first; other < first + images; ++other)
      if (other != number && reader.read_orientation(*open(other)) != orientation) return true;
    return false;
  };
  Finding turned;
  for (const auto& [number, orientation] : examined.turned) {
    try {
      if (has_unturned_ || differs(number, orientation)) turned.add(print(open(number)->place(), orientation));
    } catch (const tenon::DataError&) {  // reported when the sample is read
    }
  }
  warn(turned, examined.count);
}

void TurnedImages::warn_of_transforms(const ImageReader& reader, bool are_relative) const {
  const std::string moving = reader.list_moving(/*counts_scaling=*/!are_relative);
  if (moving.empty()) return;
  tenon::log_warning("the transforms move the pixels of the image, but not the " + other_ + ": " + moving +
                     "; expected transforms that keep each pixel in its place; remove these, and prepare the images "
                     "and the " +
                     other_ + " together");
}

void TurnedImages::check(Sample& sample, const ImageReader::Worker& worker, const ImageFile& image) const {
  sample.has_upright = sample.has_upright || worker.orientation == 1;
  sample.has_turned = sample.has_turned || worker.orientation > 1;
  if (sample.has_turned && (sample.has_upright || has_unturned_)) warn(print(image.place(), worker.orientation));
}

}  // namespace datasets
