// A transform of images: darkens an image towards its corners. The transforms of every image dataset can name it.
// The header tenon/draft/transforms.hpp describes all functions of a transform, also of those that move pixels.
#include <cmath>
#include <tenon/draft/transforms.hpp>
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  // The arguments in a list of transforms, in this order. Each transform also has `p`, the probability of being
  // applied.
  static std::vector<tenon::Param> schema() {
    return {tenon::param("strength", 0.5).range("[0, 1]").doc("largest part of the brightness that a corner loses")};
  }

  explicit MyName(const tenon::Params& params) : strength_(params.number("strength")) {}

  // Several threads call this at the same time. All random values are drawn from `random`.
  void apply(tenon::draft::MovingImage& image, tenon::Random& random) const {
    const double strength = random.uniform() * strength_;
    const double middle_y = image.height() / 2.0, middle_x = image.width() / 2.0;
    uint8_t* level = image.pixels();  // [height, width, 3]
    for (int64_t y = 0; y < image.height(); ++y)
      for (int64_t x = 0; x < image.width(); ++x) {
        const double down = (y + 0.5 - middle_y) / middle_y, across = (x + 0.5 - middle_x) / middle_x;
        const double kept = 1 - strength * (down * down + across * across) / 2;
        for (int channel = 0; channel < 3; ++channel, ++level)
          *level = static_cast<uint8_t>(std::lround(*level * kept));
      }
  }

 private:
  double strength_;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The transform my_name.",
             tenon::draft::transform<MyName>("my_name", "darkens the corners of an image"))
