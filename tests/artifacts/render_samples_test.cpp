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
