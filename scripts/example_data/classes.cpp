#include "scripts/example_data/classes.h"

#include <algorithm>
#include <cstdio>

#include "scripts/example_data/drawing.h"
#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr uint64_t kSeed = 0xC1A55;
constexpr int kPicturesPerClass = 250;
constexpr int kSmallestSide = 64;
constexpr int kLargestSide = 128;
constexpr double kSmallest = 0.3;  // shape diameter divided by the shorter side of the picture
constexpr double kLargest = 0.9;

int draw_side(tenon::Random& random) {
  return kSmallestSide + static_cast<int>(random.integer(kLargestSide - kSmallestSide + 1));
}

// Places the shape within the centre square, so that a centre crop keeps it.
Shape draw_shape(Form form, double size, cv::Size picture, tenon::Random& random) {
  const double side = std::min(picture.width, picture.height);
  const double radius = size * side / 2;
  const double reach = side / 2 - radius;
  const double x = picture.width / 2.0 + random.uniform(-reach, reach);
  const double y = picture.height / 2.0 + random.uniform(-reach, reach);
  return {form, x, y, radius, random.uniform(0, 6.2832)};
}

}  // namespace

void write_classes(const std::filesystem::path& folder) {
  std::string table = "path,label,size\n";
  for (const Form form : kForms) {
    std::filesystem::create_directory(folder / name_of(form));
    for (int i = 0; i < kPicturesPerClass; ++i) {
      tenon::Random random(kSeed, static_cast<uint64_t>(static_cast<int>(form) * kPicturesPerClass + i));
      const int width = draw_side(random);
      const int height = draw_side(random);
      const double size = random.uniform(kSmallest, kLargest);
      Picture picture({width, height}, random);
      picture.paint(draw_shape(form, size, {width, height}, random), random);
      const std::string path = std::string(name_of(form)) + '/' + padded(i) + ".jpg";
      write_image(folder / path, picture.develop(random));
      char text[16];
      std::snprintf(text, sizeof text, "%.4f", size);
      table += path + ',' + name_of(form) + ',' + text + '\n';
    }
  }
  write_file(folder / "classes.csv", table);
}

}  // namespace example_data
