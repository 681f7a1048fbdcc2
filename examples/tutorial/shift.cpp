#include <tenon/draft/transforms.hpp>
#include <tenon/plugin.hpp>

// Moves an image, and everything in it, by a random distance.
class Shift final {
 public:
  static constexpr uint32_t moved_kinds = TENON_MOVES_ALL;  // masks, boxes, keypoints, ...

  static std::vector<tenon::Param> schema() {
    return {tenon::param("distance", 0.1)
                .range("[0, 1]")
                .doc("largest distance, as a part of height and width")};
  }

  explicit Shift(const tenon::Params& params) : distance_(params.number("distance")) {}

  tenon::draft::ImageSize output_size(tenon::draft::ImageSize size) const { return size; }

  void apply(tenon::draft::MovingImage& image, tenon::Random& random) const {
    const double x = random.uniform(-1, 1) * distance_ * static_cast<double>(image.width());
    const double y = random.uniform(-1, 1) * distance_ * static_cast<double>(image.height());
    image.warp({{1, 0, x, 0, 1, y, 0, 0, 1}, {image.height(), image.width()}});
  }

 private:
  double distance_;
};

TENON_PLUGIN("shift", "1.0.0", "MIT", "A transform of images.",
             tenon::draft::transform<Shift>("shift", "moves an image by a random distance"))
