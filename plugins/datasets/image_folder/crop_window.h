// Which part of an image becomes the sample.
#pragma once

#include <cstdint>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

namespace image_folder {

enum class Crop { center, random, random_resized };

struct CropOptions {
  Crop crop;
  int64_t resize;      // the shorter side is scaled to this before cropping; not for random_resized
  int64_t image_size;  // side of the crop. REQUIRES: at most `resize`, unless random_resized.
};

// The window in the image's own pixels that is to be scaled to image_size x image_size. Cutting out first and scaling
// then is the same as "scale the shorter side to `resize`, crop" up to half a pixel of the image, and neither scales
// what is cut off nor grows with the aspect ratio.
// center and random: a square of image_size / resize of the shorter side. random_resized: 8 to 100 % of the area at an
// aspect ratio of 3/4 to 4/3, as in "Going Deeper with Convolutions" (Szegedy et al., arXiv:1409.4842, section 6) with
// torchvision's ten attempts and its fallback to the largest centred window within these ratios.
cv::Rect choose_window(cv::Size image, const CropOptions& options, tenon::Random& random);

}  // namespace image_folder
