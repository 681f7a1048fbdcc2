#include "framework/artifacts/drawing/render_samples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tenon/abi.h>
#include <tenon/draft/field_details.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/artifacts/drawn_fields.h"

using namespace tenon::artifacts;

TEST_CASE("a large image is shrunk to the means of squares, and the remainder is cut off") {
  const std::vector<uint8_t> pixels = {0,  10, 100, 100, 7,  //
                                       20, 31, 100, 101, 7};
  const RenderedSamples drawn = render_samples({{view("image", TENON_UINT8, {2, 5, 1}, pixels)}}, 3);
  REQUIRE(drawn.samples[0].pictures.size() == 1);
  const RenderedPicture& picture = drawn.samples[0].pictures[0];
  CHECK(picture.height == 1);
  CHECK(picture.width == 2);
  CHECK(decode_png(picture.png, 1) == std::vector<uint8_t>{15, 100});
}

TEST_CASE("an image that fits, or is too narrow to be shrunk, is unchanged") {
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6};
  for (const auto& [shape, longest] : {std::pair<std::vector<int64_t>, int64_t>{{2, 3, 1}, 3}, {{1, 6, 1}, 3}}) {
    const RenderedSamples drawn = render_samples({{view("image", TENON_UINT8, shape, pixels)}}, longest);
    CHECK(decode_png(drawn.samples[0].pictures[0].png, 1) == pixels);
  }
}

TEST_CASE("boxes and keypoints are drawn into their image, in the colours of the classes") {
  const std::vector<uint8_t> pixels(128 * 128, 40);  // is enlarged twice
  const std::vector<float> boxes = {10, 20, 30, 50, -5, 100, 140, 120, NAN, 0, 1, 1};
  const std::vector<int64_t> classes = {1, -1, 0};
  const std::vector<float> points = {64, 64, 1, 80, 80, 0};
  const ImageDetails details{{},
                             {{"boxes", {TENON_FIELD_BOXES, "image", "classes"}},
                              {"points", {TENON_FIELD_KEYPOINTS, "image", ""}},
                              {"missing", {TENON_FIELD_BOXES, "other", ""}}}};
  const RenderedSamples drawn =
      render_samples({{view("image", TENON_UINT8, {128, 128, 1}, pixels), view("boxes", TENON_FLOAT32, {3, 4}, boxes),
                       view("classes", TENON_INT64, {3}, classes), view("points", TENON_FLOAT32, {2, 3}, points)}},
                     200, {{"classes", {"cat", "dog"}}}, details);
  REQUIRE(drawn.colours.size() == 1);
  CHECK(drawn.colours[0].name == "dog");
  REQUIRE(drawn.samples[0].pictures.size() == 1);
  CHECK(drawn.samples[0].pictures[0].width == 256);
  const std::vector<uint8_t> found = decode_png(drawn.samples[0].pictures[0].png, 3);
  const auto colour_at = [&](size_t x, size_t y) {
    const uint8_t* const pixel = &found[3 * (256 * y + x)];
    return fmt::format("#{:02x}{:02x}{:02x}", pixel[0], pixel[1], pixel[2]);
  };
  const std::string grey = "#282828", no_class = "#ffdc00";
  for (const auto& [x, y] : {std::pair<size_t, size_t>{20, 40}, {59, 40}, {20, 99}, {59, 99}, {21, 70}, {40, 41}})
    CHECK(colour_at(x, y) == drawn.colours[0].colour);
  for (const auto& [x, y] : {std::pair<size_t, size_t>{19, 40}, {60, 99}, {20, 100}, {22, 42}, {160, 160}})
    CHECK(colour_at(x, y) == grey);
  CHECK(colour_at(0, 200) == no_class);  // the top of a box that is cut off on the left and right
  CHECK(colour_at(255, 239) == no_class);
  CHECK(colour_at(128, 128) == no_class);
}

TEST_CASE("the boxes of a shrunk image are shrunk") {
  const std::vector<uint8_t> pixels(1024 * 1024, 40);
  const std::vector<float> boxes = {400, 400, 800, 800};
  const RenderedSamples drawn = render_samples(
      {{view("image", TENON_UINT8, {1024, 1024, 1}, pixels), view("boxes", TENON_FLOAT32, {1, 4}, boxes)}}, 256, {},
      {{}, {{"boxes", {TENON_FIELD_BOXES, "image", ""}}}});
  REQUIRE(drawn.samples[0].pictures[0].width == 256);
  const std::vector<uint8_t> found = decode_png(drawn.samples[0].pictures[0].png, 3);
  CHECK(found[3 * (256 * 100 + 100)] == 255);
  CHECK(found[3 * (256 * 199 + 199)] == 255);
  CHECK(found[3 * (256 * 99 + 99)] == 40);
  CHECK(drawn.colours.empty());
}

TEST_CASE("a mask is rendered in the size of its shrunk image") {
  const std::vector<uint8_t> pixels(16, 40);
  const std::vector<int64_t> mask(16, 0);
  const RenderedSamples drawn =
      render_samples({{view("image", TENON_UINT8, {4, 4, 1}, pixels), view("mask", TENON_INT64, {4, 4}, mask)}}, 2);
  REQUIRE(drawn.samples[0].pictures.size() == 2);
  CHECK(drawn.samples[0].pictures[1].name == "mask");
  CHECK(decode_png(drawn.samples[0].pictures[1].png, 3) == std::vector<uint8_t>(12, 40));
}

TEST_CASE("a mask is rendered over a grey copy, and the legend has the colours over a medium grey") {
  // A red, a grey and a white pixel, and two of no class.
  const std::vector<uint8_t> pixels = {255, 0, 0, 128, 128, 128, 255, 255, 255, 9, 9, 9, 9, 9, 9};
  const std::vector<int64_t> mask = {0, 1, 1, 255, -1};
  const RenderedSamples drawn =
      render_samples({{view("image", TENON_UINT8, {1, 5, 3}, pixels), view("mask", TENON_INT64, {1, 5}, mask)}}, 8,
                     {{"mask", {"sky", "road"}}});
  const std::vector<uint8_t> drawn_mask = decode_png(drawn.samples[0].pictures[1].png, 3);
  const auto pixel = [&](ptrdiff_t i) {
    return std::vector<uint8_t>(drawn_mask.begin() + 3 * i, drawn_mask.begin() + 3 * i + 3);
  };
  CHECK(pixel(0) == std::vector<uint8_t>(3, 76));
  CHECK(pixel(2) != pixel(1));
  CHECK(pixel(3) == std::vector<uint8_t>(3, 255));
  CHECK(pixel(4) == pixel(3));
  REQUIRE(drawn.colours.size() == 3);
  char of_pixel[8];
  std::snprintf(of_pixel, sizeof of_pixel, "#%02x%02x%02x", pixel(1)[0], pixel(1)[1], pixel(1)[2]);
  CHECK(drawn.colours[0].name == "sky");
  CHECK(drawn.colours[0].colour == "#808080");
  CHECK(drawn.colours[1].name == "road");
  CHECK(drawn.colours[1].colour == of_pixel);
  CHECK(drawn.colours[2].name == "ignored");
  CHECK(drawn.colours[2].colour == "#ffffff");
  CHECK(render_samples({{view("image", TENON_UINT8, {1, 5, 3}, pixels)}}, 8).colours.empty());
}

// The colours of any two of the first classes differ clearly, over black and over white.
TEST_CASE("the colours of a class stay the most similar ones over any image") {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> mask;
  constexpr int64_t kClasses = 6;
  for (int64_t number = 1; number <= kClasses; ++number)
    for (const uint8_t grey : {0, 255}) {
      pixels.push_back(grey);
      mask.push_back(number);
    }
  const RenderedSamples drawn = render_samples(
      {{view("image", TENON_UINT8, {1, 2 * kClasses, 1}, pixels), view("mask", TENON_INT64, {1, 2 * kClasses}, mask)}},
      32);
  const std::vector<uint8_t> pixel = decode_png(drawn.samples[0].pictures[1].png, 3);
  REQUIRE(drawn.colours.size() == kClasses);
  for (size_t i = 0; i < 2 * kClasses; ++i) {
    std::vector<int> distances;
    for (const ClassColour& one : drawn.colours) {
      int distance = 0;
      for (size_t c = 0; c < 3; ++c)
        distance += std::abs(pixel[3 * i + c] - std::stoi(one.colour.substr(1 + 2 * c, 2), nullptr, 16));
      distances.push_back(distance);
    }
    CHECK(static_cast<size_t>(std::ranges::min_element(distances) - distances.begin()) == i / 2);
  }
}

TEST_CASE("a normalised image has its true colours") {
  // Red 51, green 102 and blue 255 of two pixels, the second one black.
  const Normalisation normalisation{{0.5, 0.25, 0.125}, {0.5, 0.2, 0.1}};
  const auto normalise = [&](double pixel, size_t c) {
    return static_cast<float>((pixel / 255 - normalisation.mean[c]) / normalisation.std[c]);
  };
  const std::vector<float> values = {normalise(51, 0), normalise(0, 0),   normalise(102, 1),
                                     normalise(0, 1),  normalise(255, 2), normalise(0, 2)};
  const RenderedSamples drawn =
      render_samples({{view("image", TENON_FLOAT32, {3, 1, 2}, values)}}, 8, {}, {{{"image", normalisation}}});
  CHECK(decode_png(drawn.samples[0].pictures[0].png, 3) == std::vector<uint8_t>{51, 102, 255, 0, 0, 0});
  CHECK(drawn.ranges.empty());
}

TEST_CASE("a normalisation of another number of channels is not used, and values outside are cut off") {
  const std::vector<float> values = {-1, 0, 1};
  const TensorView image = view("image", TENON_FLOAT32, {1, 1, 3}, values);
  CHECK(render_samples({{image}}, 8, {}, {{{"image", {{0.5, 0.5}, {1, 1}}}}}).ranges.contains("image"));
  const RenderedSamples drawn = render_samples({{image}}, 8, {}, {{{"image", {{0.2}, {1}}}}});
  CHECK(decode_png(drawn.samples[0].pictures[0].png, 1) == std::vector<uint8_t>{0, 51, 255});
}

TEST_CASE("a class that is named like its number is not repeated") {
  const std::vector<int64_t> label = {1};
  const TensorView field = view("label", TENON_INT64, {}, label);
  CHECK(render_samples({{field}}, 8, {{"label", {"0", "1"}}}).samples[0].values[0].second == "1");
  CHECK(render_samples({{field}}, 8, {{"label", {"cat", "dog"}}}).samples[0].values[0].second == "1 (dog)");
}
