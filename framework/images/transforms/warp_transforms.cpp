// horizontal_flip and vertical_flip: torchvision 0.26, v2.RandomHorizontalFlip and v2.RandomVerticalFlip.
#include <cmath>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/transform.h"

namespace images {
namespace {

template <Flip kFlip>
class FlipTransform final : public Transform {
 public:
  void draw(cv::Size&, tenon::Random&, Steps& steps) const override { steps.push_back(kFlip); }
};

// random_rotation and random_affine: torchvision 0.26, v2.RandomRotation and v2.RandomAffine.

// A single number `10` means -10 to 10; two numbers are both ends.
std::pair<double, double> symmetric_interval(const Arguments& arguments, std::string_view name) {
  const std::vector<double>& numbers = arguments.numbers(name);
  if (numbers.size() == 2) return arguments.interval(name);
  if (numbers[0] < 0) arguments.refuse(name, "0 or more, or two numbers");
  return {-numbers[0], numbers[0]};
}

class RandomRotation final : public Transform {
 public:
  explicit RandomRotation(const Arguments& arguments)
      : degrees_(symmetric_interval(arguments, "degrees")),
        interpolation_(interpolation_from(arguments)),
        expands_(arguments.is_on("expand")),
        fill_(colour_from(arguments.numbers("fill"))) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    // Counter-clockwise, unlike random_affine.
    const auto matrix = inverse_matrix({.angle = -draw_between(random, degrees_)});
    if (expands_) size = expanded_size(matrix, size);
    steps.push_back(Warp{matrix, size, interpolation_, fill_});
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size> size) const override {
    return expands_ ? std::nullopt : size;
  }

 private:
  std::pair<double, double> degrees_;
  Interpolation interpolation_;
  bool expands_;
  Colour fill_;
};

class RandomAffine final : public Transform {
 public:
  explicit RandomAffine(const Arguments& arguments)
      : degrees_(symmetric_interval(arguments, "degrees")),
        translate_{arguments.numbers("translate")[0], arguments.numbers("translate")[1]},
        scale_(arguments.interval("scale")),
        interpolation_(interpolation_from(arguments)),
        fill_(colour_from(arguments.numbers("fill"))) {
    const std::vector<double>& shear = arguments.numbers("shear");
    if (shear.size() < 4) {
      shear_x_ = symmetric_interval(arguments, "shear");
    } else {
      if (shear[0] > shear[1] || shear[2] > shear[3])
        arguments.refuse("shear", "the smaller number of each pair first");
      shear_x_ = {shear[0], shear[1]};
      shear_y_ = {shear[2], shear[3]};
    }
  }

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    Affine affine;
    affine.angle = draw_between(random, degrees_);
    affine.translate_x = std::nearbyint(draw_between(random, both_ways(translate_[0] * size.width)));
    affine.translate_y = std::nearbyint(draw_between(random, both_ways(translate_[1] * size.height)));
    affine.scale = draw_between(random, scale_);
    affine.shear_x = draw_between(random, shear_x_);
    affine.shear_y = draw_between(random, shear_y_);
    steps.push_back(Warp{inverse_matrix(affine), size, interpolation_, fill_});
  }

 private:
  static std::pair<double, double> both_ways(double most) { return {-most, most}; }

  std::pair<double, double> degrees_;
  std::array<double, 2> translate_;
  std::pair<double, double> scale_;
  std::pair<double, double> shear_x_ = {0, 0};
  std::pair<double, double> shear_y_ = {0, 0};
  Interpolation interpolation_;
  Colour fill_;
};

// random_perspective: torchvision 0.29, v2.RandomPerspective.
class RandomPerspective final : public Transform {
 public:
  explicit RandomPerspective(const Arguments& arguments)
      : distortion_(arguments.number("distortion_scale")),
        interpolation_(interpolation_from(arguments)),
        fill_(colour_from(arguments.numbers("fill"))) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const int across = static_cast<int>(distortion_ * (size.width / 2)) + 1;
    const int down = static_cast<int>(distortion_ * (size.height / 2)) + 1;
    const auto near = [&](int bound) { return static_cast<int>(random.integer(bound)); };
    const auto far = [&](int length, int bound) { return length - bound + static_cast<int>(random.integer(bound)); };
    if (size.width < 2 || size.height < 2) return;  // its corners are one point
    // Large distortions can give corners that no view of the image has.
    std::array<cv::Point, 4> corners;
    for (int trial = 0; trial < 10; ++trial) {
      corners[0].x = near(across);
      corners[0].y = near(down);
      corners[1].x = far(size.width, across);
      corners[1].y = near(down);
      corners[2].x = far(size.width, across);
      corners[2].y = far(size.height, down);
      corners[3].x = near(across);
      corners[3].y = far(size.height, down);
      if (!are_convex(corners)) continue;
      const auto coefficients = perspective_coefficients(size, corners);
      if (!is_in_front(coefficients, size)) continue;
      steps.push_back(Perspective{coefficients, size, interpolation_, fill_});
      return;
    }
  }

 private:
  // Clockwise, as seen in the image.
  static bool are_convex(const std::array<cv::Point, 4>& corners) {
    for (size_t i = 0; i < 4; ++i) {
      const cv::Point first = corners[(i + 1) % 4] - corners[i];
      const cv::Point second = corners[(i + 2) % 4] - corners[(i + 1) % 4];
      if (first.cross(second) <= 0) return false;
    }
    return true;
  }

  // Whether the whole new image is on one side of the horizon, where it has a position in the old one.
  static bool is_in_front(const std::array<double, 8>& c, cv::Size size) {
    if (c == std::array<double, 8>{}) return false;  // its corner is on the horizon
    constexpr double kNear = 1e-3;
    return c[6] * size.width + 1 > kNear && c[7] * size.height + 1 > kNear &&
           c[6] * size.width + c[7] * size.height + 1 > kNear;
  }

  double distortion_;
  Interpolation interpolation_;
  Colour fill_;
};

Argument degrees_argument() {
  return {.name = "degrees",
          .default_value = "",
          .doc = "largest angle in either direction, or smallest and largest angle, in degrees",
          .counts = {1, 2},
          .range = "[-360, 360]"};
}

}  // namespace

TransformKind horizontal_flip_kind() {
  return {"horizontal_flip",
          "Flips the image left to right.",
          "torchvision RandomHorizontalFlip",
          {probability("0.5")},
          make_transform<FlipTransform<Flip::horizontal>>};
}

TransformKind vertical_flip_kind() {
  return {"vertical_flip",
          "Flips the image top to bottom.",
          "torchvision RandomVerticalFlip",
          {probability("0.5")},
          make_transform<FlipTransform<Flip::vertical>>};
}

TransformKind random_rotation_kind() {
  return {"random_rotation",
          "Rotates counter-clockwise around the centre by a random angle.",
          "torchvision RandomRotation",
          {degrees_argument(), interpolation_argument("nearest", {"nearest", "bilinear"}),
           flag("expand", "false", "whether to enlarge the image so that nothing is cut off"), fill_argument(),
           probability("1")},
          make_transform<RandomRotation>};
}

TransformKind random_perspective_kind() {
  return {"random_perspective",
          "Moves each corner towards the centre by a random amount, with a perspective transformation.",
          "torchvision RandomPerspective",
          {{"distortion_scale", "0.5", "largest motion of a corner, as a fraction of half the image", {1}, "[0, 1]"},
           interpolation_argument("bilinear", {"nearest", "bilinear"}),
           fill_argument(),
           probability("0.5")},
          make_transform<RandomPerspective>};
}

TransformKind random_affine_kind() {
  return {"random_affine",
          "Rotates clockwise around the centre, translates, scales and shears by random amounts.",
          "torchvision RandomAffine",
          {degrees_argument(),
           {.name = "translate",
            .default_value = "(0, 0)",
            .doc = "largest horizontal and vertical translation, as a fraction of width and height",
            .counts = {2},
            .range = "[0, 1]"},
           {"scale", "(1, 1)", "smallest and largest scale factor", {2}, "(0, inf)"},
           {.name = "shear",
            .default_value = "0",
            .doc = "shear along x in degrees: the largest in either direction, or smallest and largest; four numbers: "
                   "smallest and largest along x, then y",
            .counts = {1, 2, 4},
            .range = "(-90, 90)"},
           interpolation_argument("nearest", {"nearest", "bilinear"}),
           fill_argument(),
           probability("1")},
          make_transform<RandomAffine>};
}

}  // namespace images
