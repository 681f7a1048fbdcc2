// Compares steps with given numbers with the results of Pillow and torchvision for the same image.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/augment_operations.h"
#include "framework/images/transforms/write_pixels.h"
#include "tests/images/reference_cases.h"

using namespace images;

namespace {

Interpolation interpolation_of(const ReferenceCase& given) {
  if (given.interpolation == "nearest") return Interpolation::nearest;
  return given.interpolation == "bicubic" ? Interpolation::bicubic : Interpolation::bilinear;
}

Step make_resize(const ReferenceCase& given, Antialias antialias) {
  const cv::Rect source(given.whole("left"), given.whole("top"), given.whole("width"), given.whole("height"));
  const cv::Size scaled(given.whole("new_width"), given.whole("new_height"));
  return Resize{source, scaled, {{0, 0}, scaled}, interpolation_of(given), antialias};
}

Step make_affine(const ReferenceCase& given, cv::Size size) {
  const Affine affine = {given["angle"], given["translate_x"], given["translate_y"],
                         given["scale"], given["shear_x"],     given["shear_y"]};
  const auto fill = static_cast<float>(given["fill"]);
  return Warp{inverse_matrix(affine), size, interpolation_of(given), {fill, fill, fill}};
}

Step make_rotation(const ReferenceCase& given, cv::Size size) {
  const auto matrix = inverse_matrix({.angle = -given["angle"]});
  return Warp{matrix, expanded_size(matrix, size), interpolation_of(given), {20, 200, 90}};
}

Step make_shear(const ReferenceCase& given, cv::Size size) {
  Affine affine;
  (given.operation == "shear_x" ? affine.shear_x : affine.shear_y) = given["degrees"];
  const cv::Point2d corner(-size.width / 2.0, -size.height / 2.0);
  return Warp{inverse_matrix(affine, corner), size, Interpolation::bilinear, {0, 0, 0}};
}

// The cases of AutoAugment and TrivialAugmentWide: `augment_shear_x`, and so on.
Step make_augment_step(const ReferenceCase& given, cv::Size size) {
  const AugmentRanges ranges = given.numbers.count("wide") > 0 ? kWideAugmentRanges : rand_augment_ranges(size);
  Steps steps;
  append_operation(read_augment_operation(given.operation.substr(8)), {given.whole("bin"), given.whole("bins")},
                   given.whole("reversed") == 1, ranges, {interpolation_of(given), {20, 200, 90}}, size, steps);
  return steps.at(0);
}

Step make_step(const ReferenceCase& given, cv::Size size) {
  const std::string& operation = given.operation;
  if (operation.starts_with("augment_")) return make_augment_step(given, size);
  if (operation == "resize") return make_resize(given, Antialias::yes);
  if (operation == "plain_resize") return make_resize(given, Antialias::no);
  if (operation == "affine") return make_affine(given, size);
  if (operation == "rotate") return make_rotation(given, size);
  if (operation == "shear_x" || operation == "shear_y") return make_shear(given, size);
  if (operation == "brightness") return Brightness{given["factor"]};
  if (operation == "contrast") return Contrast{given["factor"]};
  if (operation == "saturation") return Saturation{given["factor"]};
  if (operation == "sharpness") return Sharpness{given["factor"]};
  if (operation == "hue") return Hue{given["shift"]};
  if (operation == "grayscale") return Grayscale{};
  if (operation == "posterize") return Posterize{given.whole("bits")};
  if (operation == "solarize") return Solarize{given["threshold"]};
  if (operation == "auto_contrast") return AutoContrast{};
  if (operation == "equalize") return Equalize{};
  if (operation == "blur") return Blur{{given.whole("width"), given.whole("height")}, given["sigma"]};
  if (operation == "erase") {
    const cv::Rect area(given.whole("left"), given.whole("top"), given.whole("width"), given.whole("height"));
    return Erase{area, Colour{1, 2, 250}, tenon::Random(0)};
  }
  throw std::runtime_error("unknown case: " + operation);
}

// Returns the image that the script passes to the operation.
cv::Mat make_input(const ReferenceCase& given) {
  cv::Mat image = read_reference_image("input.png");
  if (given.operation == "auto_contrast") {
    for (uchar* byte = image.data; byte < image.dataend; ++byte) *byte = static_cast<uchar>(*byte / 3 + 40);
  }
  return image;
}

}  // namespace

// Some cases allow a difference of one level. Bilinear warps, blurring, sharpening and hue are sums and products in
// single precision. Their order differs from torchvision's, and the last bit decides the rounding. The same holds for
// the brightness, which contrast, saturation and greyscale truncate to a whole level. Scaling of torchvision's tensors
// rounds differently from Pillow, and the results must equal Pillow's exactly.
TEST_CASE("each step gives the pixels of the reference") {
  std::set<std::string> operations;
  for (const ReferenceCase& given : read_reference_cases()) {
    CAPTURE(given.file);
    const cv::Mat image = make_input(given);
    TransformBuffers buffers;
    MovingImage moving(image, buffers);
    moving.apply(make_step(given, image.size()));
    const cv::Mat expected = read_reference_image(given.file);
    REQUIRE(moving.get().size() == expected.size());
    if (given.operation == "affine" || given.operation == "rotate" || given.operation.ends_with("shear_x") ||
        given.operation == "augment_rotate") {
      // A position halfway between two pixels may be rounded to either.
      cv::Mat difference;
      cv::absdiff(moving.get(), expected, difference);
      const auto far = std::count_if(difference.begin<cv::Vec3b>(), difference.end<cv::Vec3b>(),
                                     [](cv::Vec3b pixel) { return *std::max_element(pixel.val, pixel.val + 3) > 1; });
      CHECK(far <= (given.interpolation == "nearest" ? 3 : 0));
    } else {
      CHECK(largest_difference(moving.get(), expected) <= given.tolerance);
    }
    operations.insert(given.operation);
  }
  CHECK(operations.size() == 18 + 14);
}

TEST_CASE("normalised numbers equal torchvision's") {
  const cv::Mat image = read_reference_image("input.png");
  const Scaling8Bit scaling(Normalization{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}});
  std::vector<float> planes(3 * image.total());
  write_planes(image, Mirror::no, scaling, planes.data());
  for (const std::vector<std::string>& line : read_reference_lines("normalized.txt")) {
    const size_t at = std::stoul(line.at(1)) * 96 + std::stoul(line.at(0));
    for (size_t channel = 0; channel < 3; ++channel) {
      // Two roundings in single precision here, three in torchvision.
      CHECK(std::abs(planes[channel * image.total() + at] - std::stof(line.at(2 + channel))) < 1e-6);
    }
  }
}
