// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace synthetic_test {

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/synthetic.so";

using Texts = std::vector<std::string>;

ParamValues make_params(const std::string& dtype) {
  return {{"samples", int64_t{40}}, {"channels", int64_t{3}}, {"height", int64_t{20}},
          {"width", int64_t{24}},   {"classes", int64_t{4}},  {"dtype", dtype}};
}

double mean_of(const std::vector<float>& image) {
  return std::accumulate(image.begin(), image.end(), 0.0) / static_cast<double>(image.size());
}

}  // namespace

TEST_CASE("synthetic gives images of the requested size, as floats below 1 or bytes") {
  const OpenedDataset floats(kPlugin, make_params("float32"));
  CHECK(floats.size() == 40);
  CHECK(floats.describe_fields() == Texts{"image float32 3,20,24", "label int64"});
  const OpenedDataset bytes(kPlugin, make_params("uint8"));
  CHECK(bytes.describe_fields() == Texts{"image uint8 20,24,3", "label int64"});
  for (int64_t i = 0; i < 40; ++i) {
    const std::vector<float> image = floats.floats(i, "image");
    const std::vector<uint8_t> levels = bytes.bytes(i, "image");
    REQUIRE(image.size() == levels.size());
    for (size_t at = 0; at < image.size(); ++at) CHECK(image[at] * 256 == levels[at]);
    CHECK(floats.integer(i, "label") == i % 4);
  }
}

TEST_CASE("images differ, and are brighter by class") {
  const OpenedDataset images(kPlugin, make_params("float32"));
  std::set<std::vector<float>> seen;
  for (int64_t i = 0; i < 40; ++i) {
    const std::vector<float> image = images.floats(i, "image");
    CHECK(mean_of(image) == doctest::Approx(0.248 + 0.125 * static_cast<double>(i % 4)).epsilon(0.05));
    CHECK(*std::max_element(image.begin(), image.end()) < 1);
    seen.insert(image);
  }
  CHECK(seen.size() == 40);
}

TEST_CASE("an image with too many elements is refused") {
  ParamValues params = make_params("uint8");
  params["height"] = params["width"] = int64_t{65536};
  const std::string text = error_of<Refused>([&] { OpenedDataset(kPlugin, params); });
  CHECK(text.find("3 x 65536 x 65536 elements; expected at most 1073741824") != std::string::npos);
}

}  // namespace synthetic_test
