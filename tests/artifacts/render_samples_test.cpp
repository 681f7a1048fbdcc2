#include "framework/artifacts/drawing/render_samples.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

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

TEST_CASE("a mask is rendered in the size of its shrunk image") {
  const std::vector<uint8_t> pixels(16, 40);
  const std::vector<int64_t> mask(16, 0);
  const RenderedSamples drawn =
      render_samples({{view("image", TENON_UINT8, {4, 4, 1}, pixels), view("mask", TENON_INT64, {4, 4}, mask)}}, 2);
  REQUIRE(drawn.samples[0].pictures.size() == 2);
  CHECK(drawn.samples[0].pictures[1].name == "mask");
  CHECK(decode_png(drawn.samples[0].pictures[1].png, 3) == std::vector<uint8_t>(12, 40));
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
      render_samples({{view("image", TENON_FLOAT32, {3, 1, 2}, values)}}, 8, {}, {{"image", normalisation}});
  CHECK(decode_png(drawn.samples[0].pictures[0].png, 3) == std::vector<uint8_t>{51, 102, 255, 0, 0, 0});
  CHECK(drawn.ranges.empty());
}

TEST_CASE("a normalisation of another number of channels is not used, and values outside are cut off") {
  const std::vector<float> values = {-1, 0, 1};
  const TensorView image = view("image", TENON_FLOAT32, {1, 1, 3}, values);
  CHECK(render_samples({{image}}, 8, {}, {{"image", {{0.5, 0.5}, {1, 1}}}}).ranges.contains("image"));
  const RenderedSamples drawn = render_samples({{image}}, 8, {}, {{"image", {{0.2}, {1}}}});
  CHECK(decode_png(drawn.samples[0].pictures[0].png, 1) == std::vector<uint8_t>{0, 51, 255});
}

TEST_CASE("a class that is named like its number is not repeated") {
  const std::vector<int64_t> label = {1};
  const TensorView field = view("label", TENON_INT64, {}, label);
  CHECK(render_samples({{field}}, 8, {{"label", {"0", "1"}}}).samples[0].values[0].second == "1");
  CHECK(render_samples({{field}}, 8, {{"label", {"cat", "dog"}}}).samples[0].values[0].second == "1 (dog)");
}
