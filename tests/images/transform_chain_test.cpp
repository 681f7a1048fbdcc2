#include "framework/images/transforms/transform_chain.h"

#include <doctest/doctest.h>

#include <set>

#include <tenon/error.hpp>

#include "tests/images/reference_cases.h"

namespace transform_chain_test {

using namespace images;

namespace {

cv::Rect2d whole(const cv::Mat& image) {
  return {0, 0, static_cast<double>(image.cols), static_cast<double>(image.rows)};
}

// Returns the uint8 sample, computed from the whole image's window.
cv::Mat transform(const TransformChain& chain, const cv::Mat& image, uint64_t seed) {
  const SampledTransforms sampled = chain.draw(image.size(), seed);
  const cv::Mat window = image(sampled.window());
  TransformBuffers buffers;
  cv::Mat result(sampled.size(), CV_8UC3);
  sampled.write(window, whole(window), buffers, result.data);
  return result;
}

std::vector<float> transform_to_planes(const TransformChain& chain, const cv::Mat& image, uint64_t seed) {
  const SampledTransforms sampled = chain.draw(image.size(), seed);
  const cv::Mat window = image(sampled.window());
  TransformBuffers buffers;
  std::vector<float> planes(3 * static_cast<size_t>(sampled.size().area()));
  sampled.write(window, whole(window), buffers, planes.data());
  return planes;
}

// Applies the transforms as separate chains, one after another.
cv::Mat transform_one_by_one(const std::vector<std::string>& entries, cv::Mat image, uint64_t seed) {
  for (const std::string& entry : entries) image = transform(TransformChain({entry}), image, seed);
  return image;
}

const std::vector<std::string> kEverything = {"random_resized_crop(40)",
                                              "horizontal_flip()",
                                              "vertical_flip()",
                                              "random_rotation(20, bilinear, p=0.5)",
                                              "random_affine(5)",
                                              "color_jitter(0.4, 0.4, 0.4, 0.1)",
                                              "grayscale(p=0.3)",
                                              "gaussian_blur(3)",
                                              "rand_augment()",
                                              "auto_augment()",
                                              "trivial_augment_wide()",
                                              "random_erasing()",
                                              "normalize()",
                                              "random_erasing(value=random)"};

}  // namespace

TEST_CASE("a sample depends only on its seed") {
  const cv::Mat image = make_noise({120, 90}, 1);
  const TransformChain chain(kEverything);
  const TransformChain same(kEverything);
  std::set<std::vector<float>> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<float> planes = transform_to_planes(chain, image, seed);
    CHECK(planes == transform_to_planes(same, image, seed));
    seen.insert(planes);
  }
  CHECK(seen.size() == 40);
}

TEST_CASE("buffers of another sample do not affect the result") {
  const TransformChain chain(kEverything);
  TransformBuffers buffers;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const cv::Mat image = make_noise({100 + static_cast<int>(seed), 70}, seed);
    const SampledTransforms sampled = chain.draw(image.size(), seed);
    std::vector<float> planes(3 * 40 * 40);
    const cv::Mat window = image(sampled.window());
    sampled.write(window, whole(window), buffers, planes.data());
    CHECK(planes == transform_to_planes(chain, image, seed));
  }
}

TEST_CASE("the input image is not modified") {
  const cv::Mat image = make_noise({60, 50}, 2);
  const cv::Mat before = image.clone();
  for (const char* entry : {"color_jitter(0.4, 0.4, 0.4, 0.1)", "random_erasing(p=1, value=9)", "grayscale"}) {
    transform(TransformChain({entry}), image, 1);
    CHECK(largest_difference(image, before) == 0);
  }
}

TEST_CASE("another transform in the chain does not change the random values of the others") {
  const cv::Mat image = make_noise({60, 50}, 3);
  const TransformChain chain({"random_crop(32)", "color_jitter(0.5)"});
  const TransformChain longer({"vertical_flip(p=0)", "random_crop(32)", "gaussian_blur(3, p=0)", "color_jitter(0.5)"});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(largest_difference(transform(chain, image, seed), transform(longer, image, seed)) == 0);
  }
}

TEST_CASE("two transforms with the same name use separate random values") {
  const cv::Mat image = make_noise({8, 8}, 4);
  const TransformChain twice({"horizontal_flip()", "horizontal_flip()"});
  int mirrored = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) mirrored += largest_difference(transform(twice, image, seed), image) > 0;
  CHECK(mirrored > 30);
  CHECK(mirrored < 70);
}

TEST_CASE("merged steps give the same result as separate steps") {
  const std::vector<std::vector<std::string>> chains = {
      {"resize(40)", "center_crop(32)"},
      {"resize(40, bicubic)", "random_crop(32)", "horizontal_flip(p=1)"},
      {"resize(40, nearest)", "center_crop(32)"},
      {"resize(40, antialias=false)", "center_crop(32)"},
      {"center_crop(50)", "resize(24)"},
      {"random_crop(50)", "random_resized_crop(24)", "horizontal_flip(p=1)", "color_jitter(0.4, 0.4, 0.4, 0.1)"},
      {"horizontal_flip(p=1)", "gaussian_blur(3)", "vertical_flip(p=1)"},
      {"random_crop(64, padding=20, fill=(1, 2, 3))", "resize(30)"},
      {"center_crop(200)", "resize(100)"},
      {"horizontal_flip(p=1)", "random_erasing(p=1, value=7)"}};
  const cv::Mat image = make_noise({90, 70}, 5);
  for (const std::vector<std::string>& chain : chains) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(chain.front());
      CHECK(largest_difference(transform(TransformChain(chain), image, seed),
                               transform_one_by_one(chain, image, seed)) == 0);
    }
  }
}

TEST_CASE("only the needed part is requested, and no larger than needed") {
  const SampledTransforms crop = TransformChain({"random_resized_crop(32, scale=(0.1, 0.2))"}).draw({640, 480}, 1);
  CHECK(crop.window().area() < 0.21 * 640 * 480);
  CHECK(crop.reduction().from.area() < 0.21 * 640 * 480);
  CHECK(crop.reduction().to == cv::Size(32, 32));
  const SampledTransforms middle = TransformChain({"resize(64)", "center_crop(56)"}).draw({640, 480}, 1);
  CHECK(middle.window().x >= 640 / 2 - 56 * 480 / 64 / 2 - 8);
  CHECK(middle.window().width <= 56 * 480 / 64 + 16);
  CHECK(middle.reduction().from == cv::Size(640, 480));
  CHECK(middle.reduction().to == cv::Size(85, 64));
  const SampledTransforms flipped = TransformChain({"vertical_flip(p=1)", "center_crop(10)"}).draw({64, 48}, 1);
  CHECK(flipped.window() == cv::Rect(0, 0, 64, 48));
  CHECK(flipped.reduction().from == flipped.reduction().to);
}

TEST_CASE("a reduced image, a little larger than the window, gives nearly the same sample") {
  // The image is smooth, so the reduced image keeps all of its detail.
  cv::Mat image(256, 320, CV_8UC3);
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; ++x) image.at<cv::Vec3b>(y, x) = {uchar(x / 2), uchar(y / 2), uchar((x + y) / 4)};
  }
  ResampleBuffers resample;
  cv::Mat half;
  resize(image, {whole(image), {160, 128}, {0, 0, 160, 128}}, Interpolation::bilinear, Antialias::yes, resample, half);
  for (const auto& entries : std::vector<std::vector<std::string>>{{"random_resized_crop(24)"},
                                                                   {"resize(40)", "center_crop(32)"},
                                                                   {"random_resized_crop(24, antialias=false)"}}) {
    const TransformChain chain(entries);
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const SampledTransforms sampled = chain.draw(image.size(), seed);
      const cv::Rect window = sampled.window();
      const cv::Point start(window.x / 2, window.y / 2);
      const cv::Rect held(start, cv::Point((window.x + window.width + 1) / 2, (window.y + window.height + 1) / 2));
      const cv::Rect2d place(window.x / 2.0 - held.x, window.y / 2.0 - held.y, window.width / 2.0, window.height / 2.0);
      TransformBuffers buffers;
      cv::Mat result(sampled.size(), CV_8UC3);
      sampled.write(half(held), place, buffers, result.data);
      CAPTURE(entries.front());
      CAPTURE(seed);
      CHECK(largest_difference(result, transform(chain, image, seed)) <= 4);
    }
  }
}

TEST_CASE("a mask is moved with its image, and keeps its labels") {
  // The image stores the mask's labels in its levels, so that both can be compared after any movement.
  cv::Mat mask(70, 90, CV_8UC1);
  for (int y = 0; y < mask.rows; ++y) {
    for (int x = 0; x < mask.cols; ++x) mask.at<uchar>(y, x) = static_cast<uchar>(10 * (x / 30) + 100 * (y / 35));
  }
  cv::Mat image;
  cv::merge(std::vector<cv::Mat>{mask, mask, mask}, image);
  const TransformChain chain({"random_resized_crop(64, interpolation=nearest)", "horizontal_flip()", "vertical_flip()",
                              "random_rotation(30, fill=255)", "random_crop(64, padding=4, fill=255)",
                              "random_affine(10, translate=(0.2, 0.2), fill=255)"});
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const cv::Mat expected = transform(chain, image, seed);
    TransformBuffers buffers;
    for (const int type : {CV_8U, CV_16U, CV_32S}) {
      cv::Mat wide;
      mask.convertTo(wide, type);
      const cv::Mat moved = chain.draw(image.size(), seed).move_mask(wide, 255, buffers);
      REQUIRE(moved.type() == type);
      cv::Mat narrow;
      moved.convertTo(narrow, CV_8U);
      cv::Mat channel;
      cv::extractChannel(expected, channel, 1);
      CHECK(largest_difference(narrow, channel) == 0);
    }
  }
}

TEST_CASE("colour changes, blurring and erasing do not change a mask") {
  const cv::Mat mask(40, 40, CV_8UC1, cv::Scalar(3));
  const TransformChain chain({"color_jitter(0.5, 0.5, 0.5, 0.5)", "gaussian_blur(5)", "random_erasing(p=1)",
                              "normalize()", "random_erasing(p=1)"});
  TransformBuffers buffers;
  CHECK(largest_difference(chain.draw(mask.size(), 1).move_mask(mask, 255, buffers), mask) == 0);
}

TEST_CASE("planes are normalised, mirrored or not, the same with and without vector instructions") {
  const Scaling8Bit scaling(Normalization{{0.5f, 0.25f, 0}, {0.5f, 1, 2}});
  for (int width = 1; width < 40; ++width) {
    const cv::Mat image = make_noise({width, 3}, static_cast<uint64_t>(width));
    for (const Mirror mirror : {Mirror::no, Mirror::yes}) {
      std::vector<float> planes(3 * image.total());
      std::vector<float> portable(3 * image.total());
      write_planes(image, mirror, scaling, planes.data());
      write_planes_portably(image, mirror, scaling, portable.data());
      CHECK(planes == portable);
      const auto& pixel = image.at<cv::Vec3b>(1, mirror == Mirror::yes ? width - 1 : 0);
      const auto at = static_cast<size_t>(width);
      CHECK(planes[at] == doctest::Approx((pixel[0] / 255.0 - 0.5) / 0.5));
      CHECK(planes[at + image.total()] == doctest::Approx(pixel[1] / 255.0 - 0.25));
      CHECK(planes[at + 2 * image.total()] == doctest::Approx(pixel[2] / 255.0 / 2));
    }
  }
}

TEST_CASE("after normalize, erasing writes unchanged numbers, or noise") {
  const cv::Mat image = make_noise({64, 64}, 6);
  const std::vector<float> fixed = transform_to_planes(
      TransformChain({"normalize()", "random_erasing(p=1, scale=(0.2, 0.3), value=(7, 8, 9))"}), image, 1);
  const std::vector<float> noise = transform_to_planes(
      TransformChain({"normalize()", "random_erasing(p=1, scale=(0.2, 0.3), value=random)"}), image, 1);
  std::vector<float> erased;
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t at = channel * 4096; at < (channel + 1) * 4096; ++at) {
      if (fixed[at] == static_cast<float>(7 + channel)) erased.push_back(noise[at]);
    }
  }
  CHECK(erased.size() > 3 * 4096 * 0.18);
  double sum = 0;
  double squares = 0;
  for (const float value : erased) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(erased.size());
  CHECK(std::abs(sum / count) < 0.1);
  CHECK(std::abs(squares / count - 1) < 0.1);
}

TEST_CASE("the shape of samples is known in advance if it is the same for all") {
  using Shape = std::vector<int64_t>;
  CHECK(TransformChain({"random_resized_crop((3, 5))", "normalize"}).shape() == Shape{3, 3, 5});
  CHECK(TransformChain({"resize(8)", "center_crop(7)"}).shape() == Shape{7, 7, 3});
  CHECK(TransformChain({"resize(8)", "normalize"}).shape() == Shape{3, -1, -1});
  CHECK(TransformChain({"center_crop(7)", "random_rotation(9, expand=true)"}).shape() == Shape{-1, -1, 3});
  CHECK(TransformChain(std::vector<std::string>{}).shape() == Shape{-1, -1, 3});
}

TEST_CASE("without transforms a sample equals the image") {
  const cv::Mat image = make_noise({9, 5}, 7);
  CHECK(largest_difference(transform(TransformChain(std::vector<std::string>{}), image, 1), image) == 0);
}

TEST_CASE("resizing keeps the aspect ratio, and limits the longer side on request") {
  const auto size = [](const char* entry, cv::Size image) { return TransformChain({entry}).draw(image, 0).size(); };
  CHECK(size("resize(256)", {500, 375}) == cv::Size(341, 256));
  CHECK(size("resize(256)", {375, 500}) == cv::Size(256, 341));
  CHECK(size("resize(256, max_size=300)", {1000, 250}) == cv::Size(300, 75));
  CHECK(size("resize((10, 20))", {500, 375}) == cv::Size(20, 10));
}

TEST_CASE("an image that is too small for a random crop is refused as bad data, or padded") {
  const TransformChain chain({"random_crop(32)"});
  CHECK_THROWS_WITH_AS(chain.draw({40, 20}, 1),
                       "an image of 40 x 20 pixels reaches random_crop, which crops 32 x 32; put a resize before it, "
                       "or add pad_if_needed=true",
                       tenon::DataError);
  CHECK(TransformChain({"random_crop(32, pad_if_needed=true)"}).draw({40, 20}, 1).size() == cv::Size(32, 32));
}

TEST_CASE("a long thin image is refused if it would fill the memory") {
  CHECK_THROWS_WITH_AS(
      TransformChain({"resize(256)"}).draw({60000, 1}, 1),
      "an image of 60000 x 1 pixels would become one of 15360000 x 256; expected 178956970 pixels at "
      "most; put a resize before the transform that enlarges it, give resize a max_size, or remove the image",
      tenon::DataError);
  CHECK_THROWS_AS(TransformChain({"resize(65536)"}).draw({1, 1000000}, 1), tenon::DataError);
  CHECK(TransformChain({"resize(256, max_size=1000)"}).draw({60000, 1}, 1).size() == cv::Size(1000, 1));
  // The crop keeps only a small part, so nothing large is ever created.
  const cv::Mat thin = make_noise({6000, 1}, 9);
  const cv::Mat result = transform(TransformChain({"resize(256)", "center_crop(224)"}), thin, 1);
  CHECK(result.size() == cv::Size(224, 224));
}

TEST_CASE("p is the probability that a transform is applied") {
  const cv::Mat image = make_noise({8, 8}, 8);
  const auto count = [&](const std::string& entry) {
    int changed = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      changed += largest_difference(transform(TransformChain({entry}), image, seed), image) > 0;
    }
    return changed;
  };
  CHECK(count("horizontal_flip(p=0)") == 0);
  CHECK(count("horizontal_flip(p=1)") == 400);
  CHECK(std::abs(count("horizontal_flip(p=0.25)") - 100) < 35);
  CHECK(std::abs(count("gaussian_blur(3, (2, 2), p=0.25)") - 100) < 35);
}

}  // namespace transform_chain_test
