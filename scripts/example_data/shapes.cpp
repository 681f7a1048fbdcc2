#include "scripts/example_data/shapes.h"

#include "scripts/example_data/drawing.h"
#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr uint64_t kSeed = 0x5AFE5;
constexpr int kPictures = 600;
constexpr int kSide = 96;
constexpr int kMaxShapes = 4;
constexpr double kSmallest = 9;
constexpr double kLargest = 26;
constexpr uint8_t kVoid = 255;
constexpr double kEdge = 0.1;  // pixels covered less than this keep their class, above 1 - kEdge they get the shape's

// Places the centre anywhere, so that the picture's edges and other shapes cut shapes off.
Shape draw_shape(tenon::Random& random) {
  const Form form = kForms[static_cast<size_t>(random.integer(kForms.size()))];
  const double x = random.uniform(0, kSide);
  const double y = random.uniform(0, kSide);
  const double radius = random.uniform(kSmallest, kLargest);
  return {form, x, y, radius, random.uniform(0, 6.2832)};
}

void mark(const Shape& shape, cv::Mat& mask) {
  for (int y = 0; y < mask.rows; ++y) {
    for (int x = 0; x < mask.cols; ++x) {
      const double covered = coverage_of(shape, x, y);
      if (covered < kEdge) continue;
      const auto number = static_cast<uint8_t>(1 + static_cast<int>(shape.form));
      mask.at<uint8_t>(y, x) = covered > 1 - kEdge ? number : kVoid;
    }
  }
}

}  // namespace

void write_shapes(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder / "images");
  std::filesystem::create_directory(folder / "masks");
  for (int i = 0; i < kPictures; ++i) {
    tenon::Random random(kSeed, static_cast<uint64_t>(i));
    Picture picture({kSide, kSide}, random);
    cv::Mat mask(kSide, kSide, CV_8UC1, cv::Scalar(0));
    for (int64_t left = 1 + random.integer(kMaxShapes); left > 0; --left) {
      const Shape shape = draw_shape(random);
      picture.paint(shape, random);
      mark(shape, mask);
    }
    const std::string name = padded(i) + ".png";
    write_image(folder / "images" / name, picture.develop(random));
    write_image(folder / "masks" / name, mask);
  }
}

}  // namespace example_data
