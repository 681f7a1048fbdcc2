// Compares the distributions of random values with the same number of samples from torchvision.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "framework/images/transforms/transform.h"
#include "tests/images/reference_cases.h"

namespace transform_draws_test {

using namespace images;

namespace {

constexpr int kDraws = 40000;

std::unique_ptr<Transform> make(const TransformKind& kind, const std::string& text) {
  return kind.make(Arguments(parse_transform(text).arguments, kind.arguments));
}

std::vector<cv::Rect> draw_rectangles(const std::string& name, cv::Size image) {
  const bool crops = name == "crop";
  const auto transform = crops ? make(random_resized_crop_kind(), "random_resized_crop(224)")
                               : make(random_erasing_kind(), "random_erasing(p=1)");
  std::vector<cv::Rect> rectangles;
  for (int i = 0; i < kDraws; ++i) {
    tenon::Random random(static_cast<uint64_t>(i), 3);
    Steps steps;
    cv::Size size = image;
    transform->draw(size, random, steps);
    if (steps.empty()) continue;  // found no rectangle to erase
    const Step& step = steps.front();
    rectangles.push_back(crops ? std::get<Resize>(step).source : std::get<Erase>(step).area);
  }
  return rectangles;
}

double measure(const std::string& what, const cv::Rect& rectangle, cv::Size image) {
  if (what == "area") return static_cast<double>(rectangle.area()) / image.area();
  if (what == "ratio") return std::log(static_cast<double>(rectangle.width) / rectangle.height);
  return static_cast<double>(rectangle.x) / std::max(image.width - rectangle.width, 1);
}

// Returns the fraction of `values` up to `limit`, counting half of those equal to it.
double share_below(const std::vector<double>& values, double limit) {
  double count = 0;
  for (const double value : values) count += value < limit - 1e-6 ? 1 : value < limit + 1e-6 ? 0.5 : 0;
  return count / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("areas, ratios and positions of sampled rectangles have torchvision's distributions") {
  std::map<std::string, std::vector<cv::Rect>> sampled;
  for (const std::vector<std::string>& line : read_reference_lines("draws.txt")) {
    const cv::Size image(std::stoi(line.at(1)), std::stoi(line.at(2)));
    std::vector<cv::Rect>& rectangles = sampled[line[0] + line[1]];
    if (rectangles.empty()) rectangles = draw_rectangles(line.at(0), image);
    std::vector<double> values;
    for (const cv::Rect& rectangle : rectangles) values.push_back(measure(line.at(3), rectangle, image));
    for (size_t decile = 1; decile <= 9; ++decile) {
      const double limit = std::stod(line.at(3 + decile));
      const double expected = 0.1 * static_cast<double>(decile);
      CAPTURE(line[0]);
      CAPTURE(line[1]);
      CAPTURE(line[3]);
      CAPTURE(limit);
      // If many values are equal (windows that fill the image), a decile is less informative. Otherwise the tolerance
      // is four standard deviations of the difference of two such counts.
      const auto equal =
          std::count_if(values.begin(), values.end(), [&](double v) { return std::abs(v - limit) < 1e-6; });
      const double tolerance = 0.5 * static_cast<double>(equal) / static_cast<double>(values.size()) + 0.0142;
      CHECK(std::abs(share_below(values, limit) - expected) < tolerance);
    }
  }
  CHECK(sampled.size() == 6);
}

TEST_CASE("rectangles lie within the image, even if no rectangle of the ratio fits") {
  const auto crop = make(random_resized_crop_kind(), "random_resized_crop(224)");
  for (const cv::Size image :
       {cv::Size(1, 1), cv::Size(3000, 30), cv::Size(30, 3000), cv::Size(1, 5000), cv::Size(5, 4)}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      tenon::Random random(seed);
      Steps steps;
      cv::Size size = image;
      crop->draw(size, random, steps);
      const cv::Rect window = std::get<Resize>(steps.at(0)).source;
      CHECK((window & cv::Rect({}, image)) == window);
      CHECK(window.area() > 0);
      CHECK(size == cv::Size(224, 224));
    }
  }
}

TEST_CASE("if no random window fits, the largest centred window is used") {
  const auto crop = make(random_resized_crop_kind(), "random_resized_crop(224)");
  for (const auto& [image, window] : {std::pair(cv::Size(3000, 30), cv::Rect(1480, 0, 40, 30)),
                                      std::pair(cv::Size(30, 3000), cv::Rect(0, 1480, 30, 40))}) {
    tenon::Random random(3);
    Steps steps;
    cv::Size size = image;
    crop->draw(size, random, steps);
    CHECK(std::get<Resize>(steps.at(0)).source == window);
  }
}

TEST_CASE("a crop with random interpolation is bilinear or bicubic, at the positions of other crops") {
  const auto transform = make(random_resized_crop_kind(), "random_resized_crop(224, interpolation=random)");
  const auto bilinear = make(random_resized_crop_kind(), "random_resized_crop(224)");
  int bicubic = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Steps steps;
    for (const auto* crop : {transform.get(), bilinear.get()}) {
      tenon::Random random(seed);
      cv::Size size(500, 375);
      crop->draw(size, random, steps);
    }
    const auto& sampled = std::get<Resize>(steps.at(0));
    CHECK(sampled.source == std::get<Resize>(steps.at(1)).source);
    CHECK(sampled.interpolation != Interpolation::nearest);
    bicubic += sampled.interpolation == Interpolation::bicubic;
  }
  CHECK(std::abs(bicubic - 500) < 64);  // four standard deviations
}

TEST_CASE("jitter samples each factor from its interval, in every order") {
  const auto jitter = make(color_jitter_kind(), "color_jitter(0.4, contrast=(0.5, 0.6), hue=0.1)");
  std::map<size_t, int> first;
  double least = 2;
  double most = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    tenon::Random random(seed);
    Steps steps;
    cv::Size size(10, 10);
    jitter->draw(size, random, steps);
    REQUIRE(steps.size() == 3);
    ++first[steps[0].index()];
    for (const Step& step : steps) {
      if (const auto* brightness = std::get_if<Brightness>(&step)) {
        least = std::min(least, brightness->factor);
        most = std::max(most, brightness->factor);
      }
      if (const auto* contrast = std::get_if<Contrast>(&step)) {
        CHECK(contrast->factor >= 0.5);
        CHECK(contrast->factor < 0.6);
      }
    }
  }
  CHECK(least >= 0.6);
  CHECK(least < 0.602);
  CHECK(most < 1.4);
  CHECK(most > 1.398);
  REQUIRE(first.size() == 3);
  for (const auto& [index, count] : first) {
    CHECK(count > 890);  // 1000 minus four standard deviations
    CHECK(count < 1110);
  }
}

}  // namespace transform_draws_test
