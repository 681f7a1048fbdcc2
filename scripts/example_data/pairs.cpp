#include "scripts/example_data/pairs.h"

#include <cmath>
#include <cstdio>

#include "scripts/example_data/drawing.h"
#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr uint64_t kSeed = 0x9A125;
constexpr int kPairs = 2000;
constexpr int kSide = 48;
constexpr double kSmallest = 9;
constexpr double kLargest = 20;

Shape draw_shape(Form form, tenon::Random& random) {
  const double radius = random.uniform(kSmallest, kLargest);
  const double x = random.uniform(radius, kSide - radius);
  const double y = random.uniform(radius, kSide - radius);
  return {form, x, y, radius, random.uniform(0, 6.2832)};
}

void write_picture(const std::filesystem::path& file, const Shape& shape, tenon::Random& random) {
  Picture picture({kSide, kSide}, random);
  picture.paint(shape, random);
  write_image(file, picture.develop(random));
}

}  // namespace

void write_pairs(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder / "images");
  std::string table = "first,second,label,size_ratio\n";
  for (int i = 0; i < kPairs; ++i) {
    tenon::Random random(kSeed, static_cast<uint64_t>(i));
    const bool is_same = random.chance(0.5);
    const int64_t form = random.integer(kForms.size());
    const int64_t other = is_same ? form : (form + 1 + random.integer(kForms.size() - 1)) % int64_t{kForms.size()};
    const Shape first = draw_shape(kForms[static_cast<size_t>(form)], random);
    const Shape second = draw_shape(kForms[static_cast<size_t>(other)], random);
    const std::string first_name = "images/" + padded(i) + "a.png";
    const std::string second_name = "images/" + padded(i) + "b.png";
    write_picture(folder / first_name, first, random);
    write_picture(folder / second_name, second, random);
    char ratio[16];
    std::snprintf(ratio, sizeof ratio, "%.4f", std::log2(second.radius / first.radius));
    table += first_name + ',' + second_name + (is_same ? ",same," : ",different,") + ratio + '\n';
  }
  write_file(folder / "pairs.csv", table);
}

}  // namespace example_data
