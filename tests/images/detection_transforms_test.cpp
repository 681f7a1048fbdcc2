// Tests the transforms for detection and segmentation: against the results of make_detection_reference.py, and what is
// sampled.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/error.hpp>

#include "framework/images/transforms/move_targets.h"
#include "framework/images/transforms/transform_chain.h"
#include "tests/images/reference_cases.h"

using namespace images;

namespace detection_transforms_test {
namespace {

// The same image as make_image of the script.
cv::Mat make_image(int number, cv::Size size) {
  cv::Mat image(size, CV_8UC3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool is_edge = y >= size.height / 2 && x >= size.width / 3 && x < size.width / 2;
      for (int channel = 0; channel < 3; ++channel) {
        const int wave =
            (x * (7 + (number * 5 + channel * 3) % 23) + y * (5 + (number * 3 + channel * 7) % 29) + number * 37) & 511;
        const int level = is_edge ? number * 11 % 256 : wave < 256 ? wave : 511 - wave;
        image.at<cv::Vec3b>(y, x)[channel] = static_cast<uint8_t>(level);
      }
    }
  }
  return image;
}

cv::Mat make_mask(int number, cv::Size size) {
  cv::Mat mask(size, CV_8UC1);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      mask.at<uint8_t>(y, x) = static_cast<uint8_t>((x * 3 + y * 5 + number) / 9 % 5);
  return mask;
}

struct Case {
  int number;
  cv::Size size;
  std::vector<double> numbers;  // the parameters
  cv::Mat expected;
};

// The cases of one kind.
std::vector<Case> read_cases(const std::string& kind) {
  const std::string folder = TENON_SOURCE_DIR "/tests/images/reference/detection/";
  cv::Mat all;
  cv::cvtColor(cv::imread(folder + "images.png", cv::IMREAD_COLOR), all, cv::COLOR_BGR2RGB);
  std::ifstream stream(folder + "cases.txt");
  std::vector<Case> cases;
  int row = 0;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string found;
    Case read;
    words >> found >> read.number;
    if (found != "mosaic") words >> read.size.width >> read.size.height;
    for (double number = 0; words >> number;) read.numbers.push_back(number);
    if (found == "mosaic" && kind == found) cases.push_back(read);
    if (found == "mosaic") continue;
    const auto whole = [&](size_t i) { return static_cast<int>(read.numbers.at(i)); };
    const cv::Size result = found == "letterbox" ? cv::Size(whole(1), whole(0)) : read.size;
    read.expected = all(cv::Rect({0, row}, result));
    row += result.height;
    if (found == kind) cases.push_back(read);
  }
  REQUIRE(row == all.rows);
  REQUIRE(cases.size() == 200);
  return cases;
}

cv::Mat apply_all(const Steps& steps, const cv::Mat& image) {
  static TransformBuffers buffers;
  MovingImage moving(image, buffers);
  for (const Step& step : steps) moving.apply(step);
  return moving.get().clone();
}

std::unique_ptr<Transform> make(const TransformKind& kind, const std::string& text) {
  return kind.make(Arguments(parse_transform(text).arguments, kind.arguments));
}

}  // namespace

TEST_CASE("perspective moves pixels, masks and boxes as torchvision does") {
  size_t boxes = 0;
  for (const Case& given : read_cases("perspective")) {
    CAPTURE(given.number);
    std::array<cv::Point, 4> corners;
    for (size_t i = 0; i < 4; ++i)
      corners[i] = {static_cast<int>(given.numbers[2 * i]), static_cast<int>(given.numbers[2 * i + 1])};
    const Perspective step = {
        perspective_coefficients(given.size, corners), given.size, Interpolation::bilinear, {20, 200, 90}};
    // Sums in single precision: the last bit decides the rounding.
    CHECK(largest_difference(apply_all({step}, make_image(given.number, given.size)), given.expected) <= 1);

    TransformBuffers buffers;
    const SampledTransforms sampled(given.size, {step}, {}, std::nullopt, Reducing::no);
    const cv::Mat mask = sampled.move_mask(make_mask(given.number, given.size), 0, buffers).clone();
    CHECK(crc32_z(0, mask.data, mask.total()) == static_cast<uint32_t>(given.numbers[8]));

    const auto count = static_cast<size_t>(given.numbers[9]);
    const std::vector<float> before(given.numbers.begin() + 10,
                                    given.numbers.begin() + 10 + 4 * static_cast<long>(count));
    const MovedRows moved = move_boxes(before, BoxFormat::xyxy, 0, motions_of({step}, given.size));
    size_t row = 0;
    for (size_t i = 0; i < count; ++i) {
      const double* expected = &given.numbers[10 + 4 * (count + i)];
      if (expected[0] >= expected[2] || expected[1] >= expected[3]) continue;  // dropped
      REQUIRE(row < moved.kept_indices.size());
      CHECK(moved.kept_indices[row] == static_cast<int64_t>(i));
      // torchvision's coefficients have single precision.
      for (size_t k = 0; k < 4; ++k) CHECK(std::abs(moved.values[4 * row + k] - expected[k]) < 1e-3);
      ++row;
      ++boxes;
    }
    CHECK(row == moved.kept_indices.size());
  }
  CHECK(boxes > 200);
}

TEST_CASE("letterbox equals Pillow's resize on a canvas") {
  for (const Case& given : read_cases("letterbox")) {
    CAPTURE(given.number);
    const std::string text = "letterbox((" + std::to_string(static_cast<int>(given.numbers[0])) + ", " +
                             std::to_string(static_cast<int>(given.numbers[1])) + "))";
    const auto transform = make(letterbox_kind(), text);
    Steps steps;
    cv::Size size = given.size;
    tenon::Random random(0);
    transform->draw(size, random, steps);
    CHECK(size == given.expected.size());
    CHECK(largest_difference(apply_all(steps, make_image(given.number, given.size)), given.expected) == 0);
    CHECK(TransformChain({text}).shape() == std::vector<int64_t>{size.height, size.width, 3});
  }
}

TEST_CASE("clahe equals that of albumentations") {
  for (const Case& given : read_cases("clahe")) {
    CAPTURE(given.number);
    const Clahe step = {given.numbers[0], {static_cast<int>(given.numbers[1]), static_cast<int>(given.numbers[2])}};
    // Versions of OpenCV round the conversion from L*a*b* differently.
    CHECK(largest_difference(apply_all({step}, make_image(given.number, given.size)), given.expected) <= 1);
  }
}

TEST_CASE("mosaic places images, masks and boxes as Ultralytics does") {
  size_t boxes_seen = 0;
  for (const Case& given : read_cases("mosaic")) {
    CAPTURE(given.number);
    size_t at = 0;
    const auto next = [&] { return static_cast<int>(given.numbers.at(at++)); };
    const MosaicSettings settings = {next(), {114, 114, 114}, Interpolation::bilinear, Antialias::yes};
    const int center_x = next(), center_y = next();
    std::array<cv::Size, kMosaicImages> sizes;
    std::array<std::vector<float>, kMosaicImages> boxes;
    for (size_t i = 0; i < kMosaicImages; ++i) {
      sizes[i].width = next();
      sizes[i].height = next();
      const int count = next();
      for (int k = 0; k < 4 * count; ++k) boxes[i].push_back(static_cast<float>(given.numbers.at(at++)));
    }
    const auto tiles = place_tiles(settings, {center_x, center_y}, sizes);
    const cv::Size size(2 * settings.side, 2 * settings.side);
    cv::Mat canvas(size, CV_8UC3, cv::Scalar::all(114)), mask(size, CV_8UC1, cv::Scalar(255));
    TransformBuffers buffers;
    std::vector<float> moved;
    for (size_t i = 0; i < kMosaicImages; ++i) {
      const int number = 4 * given.number + static_cast<int>(i);
      const SampledTransforms tile(sizes[i], {tiles[i].resize}, {}, std::nullopt, Reducing::no);
      const cv::Rect window = tile.window();
      const cv::Rect2d place(0, 0, window.width, window.height);
      tile.render(make_image(number, sizes[i])(window), place, buffers).copyTo(canvas(tiles[i].place));
      tile.move_mask(make_mask(number, sizes[i]), 255, buffers).copyTo(mask(tiles[i].place));
      Steps steps = tile.geometry();
      steps.push_back(Crop{{-tiles[i].place.tl(), size}, {}});
      const MovedRows rows = move_boxes(boxes[i], BoxFormat::xyxy, 0, motions_of(steps, sizes[i]));
      moved.insert(moved.end(), rows.values.begin(), rows.values.end());
    }
    CHECK(crc32_z(0, canvas.data, 3 * canvas.total()) == static_cast<uint32_t>(given.numbers.at(at++)));
    CHECK(crc32_z(0, mask.data, mask.total()) == static_cast<uint32_t>(given.numbers.at(at++)));
    size_t row = 0;
    for (; at < given.numbers.size(); at += 4) {
      const double* expected = &given.numbers[at];
      if (expected[0] >= expected[2] || expected[1] >= expected[3]) continue;  // cut off
      REQUIRE(row + 4 <= moved.size());
      for (size_t k = 0; k < 4; ++k) CHECK(std::abs(moved[row + k] - expected[k]) < 1e-4);
      row += 4;
      ++boxes_seen;
    }
    CHECK(row == moved.size());
  }
  CHECK(boxes_seen > 500);
}

TEST_CASE("mosaic comes first, and is drawn with its probability") {
  const TransformChain chain({"mosaic(32, p=0.25)", "random_crop(40, pad_if_needed=true)"});
  CHECK_FALSE(chain.has_fixed_part());
  CHECK(chain.list_moving(false) == "mosaic, random_crop");
  CHECK(chain.shape() == std::vector<int64_t>{40, 40, 3});
  CHECK(TransformChain({"mosaic(32)"}).shape() == std::vector<int64_t>{64, 64, 3});
  int drawn = 0;
  std::array<int, 10> counts = {};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    if (!chain.draws_mosaic(seed)) continue;
    ++drawn;
    const auto samples = chain.choose_samples(3, 10, seed);
    CHECK(samples[0] == 3);
    for (size_t i = 1; i < samples.size(); ++i) ++counts.at(static_cast<size_t>(samples[i]));
  }
  // Six standard deviations of 2000 and of 1500 draws.
  CHECK(std::abs(drawn - 500) < 6 * std::sqrt(2000 * 0.25 * 0.75));
  for (const int count : counts) CHECK(std::abs(count - 0.3 * drawn) < 6 * std::sqrt(0.3 * drawn));
  CHECK_THROWS_WITH_AS(TransformChain({"resize(8)", "mosaic(32)"}),
                       "entry 2 of parameter \"transforms\", \"mosaic(32)\": comes after other transforms; expected "
                       "mosaic first, because it combines whole images",
                       tenon::Error);
}

TEST_CASE("random_iou_crop overlaps a box enough, and drops the boxes with a centre outside") {
  const cv::Size image(100, 80);
  const std::vector<float> boxes = {10, 10, 40, 40, /**/ 60, 20, 90, 70, /**/ 5, 60, 25, 78};
  const std::vector<int64_t> lengths = {4};
  for (const double option : {0.0, 0.3, 0.5, 0.9}) {
    CAPTURE(option);
    const TransformChain chain({"random_iou_crop(sampler_options=" + std::to_string(option) + ")"});
    CHECK(chain.needs_boxes());
    CHECK(chain.shape() == std::vector<int64_t>{-1, -1, 3});
    CHECK(chain.list_moving(false) == "random_iou_crop");
    int cropped = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const SampledTransforms sampled = chain.draw(image, seed, boxes);
      const Steps steps = sampled.geometry();
      if (steps.empty()) continue;
      ++cropped;
      const auto& crop = std::get<Crop>(steps.front());
      REQUIRE((crop.window & cv::Rect({}, image)) == crop.window);
      CHECK(crop.window.width >= 30);
      CHECK(crop.window.height >= 24);
      const double ratio = static_cast<double>(crop.window.width) / crop.window.height;
      CHECK(ratio >= 0.5);
      CHECK(ratio <= 2);
      double best = -1;
      std::vector<int64_t> centered;
      for (size_t i = 0; i < boxes.size(); i += 4) {
        const cv::Rect box(cv::Point(static_cast<int>(boxes[i]), static_cast<int>(boxes[i + 1])),
                           cv::Point(static_cast<int>(boxes[i + 2]), static_cast<int>(boxes[i + 3])));
        const cv::Point2d centre = cv::Point2d(box.tl() + box.br()) / 2;
        const cv::Rect2d window = crop.window;
        if (centre.x <= window.x || centre.y <= window.y || centre.x >= window.br().x || centre.y >= window.br().y)
          continue;
        centered.push_back(static_cast<int64_t>(i / 4));
        const double common = (box & crop.window).area();
        best = std::max(best, common / (box.area() + crop.window.area() - common));
      }
      CHECK(best >= option);
      const MovedRows moved = move_boxes(boxes, BoxFormat::xyxy, 0, motions_of(steps, image));
      CHECK(moved.kept_indices == centered);
    }
    CHECK(cropped > (option < 0.9 ? 250 : 0));
  }
  // Without boxes, or with the option 1, the image stays as it is.
  CHECK(TransformChain({"random_iou_crop"}).draw(image, 1, {}).size() == image);
  CHECK(TransformChain({"random_iou_crop(sampler_options=1)"}).draw(image, 1, boxes).size() == image);
}

TEST_CASE("a crop by boxes is the same with and without a cached fixed part") {
  const cv::Size image(333, 200);
  const std::vector<float> boxes = {20, 30, 180, 190, /**/ 200.5f, 10, 333, 99};
  const TransformChain chain({"resize((77, 131))", "random_iou_crop", "horizontal_flip()", "random_iou_crop"});
  REQUIRE(chain.has_fixed_part());
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SampledTransforms whole = chain.draw(image, seed, boxes);
    const SampledTransforms rest =
        chain.sample_rest(chain.draw_fixed_part(image).size(), seed, chain.move_by_fixed_part(image, boxes));
    CHECK(whole.size() == rest.size());
    const MovedRows expected = move_boxes(boxes, BoxFormat::xyxy, 0, motions_of(whole.geometry(), image));
    const MovedRows moved = move_boxes(chain.move_by_fixed_part(image, boxes), BoxFormat::xyxy, 0,
                                       motions_of(rest.geometry(), chain.draw_fixed_part(image).size()));
    REQUIRE(moved.kept_indices == expected.kept_indices);
    // The boxes after the fixed part are rounded to single precision.
    for (size_t i = 0; i < moved.values.size(); ++i) CHECK(std::abs(moved.values[i] - expected.values[i]) < 1e-3);
  }
}

TEST_CASE("the corners of random_perspective are convex, also for tiny images") {
  const auto transform = make(random_perspective_kind(), "random_perspective(distortion_scale=1, p=1)");
  for (uint64_t seed = 0; seed < 500; ++seed) {
    tenon::Random random(seed, 1);
    Steps steps;
    cv::Size size(1 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed % 7));
    transform->draw(size, random, steps);
    if (steps.empty()) continue;
    CAPTURE(seed);
    CAPTURE(size.width);
    CAPTURE(size.height);
    for (const float number : move_keypoints(std::vector<float>{0, 0, 1, 1}, 2, 1, {}, motions_of(steps, size)))
      CHECK(std::isfinite(number));
  }
}

TEST_CASE("scale_jitter and random_zoom_out sample sizes within their ranges") {
  const auto jitter = make(scale_jitter_kind(), "scale_jitter(64, scale=(0.5, 1.5))");
  const auto zoom = make(random_zoom_out_kind(), "random_zoom_out(fill=9, side_range=(1, 3), p=1)");
  double smallest = 1e9, largest = 0, widest = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    tenon::Random random(seed, 1);
    Steps steps;
    cv::Size size(100, 50);
    jitter->draw(size, random, steps);
    const double scale = size.width / 64.0;
    smallest = std::min(smallest, scale);
    largest = std::max(largest, scale);
    CHECK(std::abs(size.width - 2 * size.height) <= 2);

    steps.clear();
    size = {40, 30};
    zoom->draw(size, random, steps);
    CHECK(size.width >= 40);
    CHECK(size.height >= 30);
    widest = std::max(widest, size.width / 40.0);
    if (steps.empty()) continue;
    const cv::Rect& window = std::get<Crop>(steps.front()).window;
    CHECK(window.size() == size);
    CHECK((cv::Rect(window.tl(), size) & cv::Rect(0, 0, 40, 30)) == cv::Rect(0, 0, 40, 30));
  }
  CHECK(smallest < 0.52);
  CHECK(smallest >= 0.48);
  CHECK(largest > 1.48);
  CHECK(largest <= 1.5);
  CHECK(widest > 2.9);
  CHECK(widest <= 3);
}

TEST_CASE("gaussian_noise has the mean and the deviation, and is the same for one seed") {
  const cv::Mat image(100, 100, CV_8UC3, cv::Scalar::all(128));
  const TransformChain chain({"gaussian_noise(mean=0.1, sigma=0.05)"});
  TransformBuffers buffers;
  std::vector<uint8_t> pixels(image.total() * 3), again(image.total() * 3);
  chain.draw(image.size(), 7).write(image, cv::Rect2d(0, 0, 100, 100), buffers, pixels.data());
  chain.draw(image.size(), 7).write(image, cv::Rect2d(0, 0, 100, 100), buffers, again.data());
  CHECK(pixels == again);
  double sum = 0, squares = 0;
  for (const uint8_t level : pixels) {
    const double noise = level - 128.0;
    sum += noise;
    squares += noise * noise;
  }
  const auto count = static_cast<double>(pixels.size());
  const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  // Levels are truncated towards 0: about half a level less. Five standard errors of the mean of 30,000 numbers.
  CHECK(std::abs(mean - (25.5 - 0.5)) < 5 * 12.75 / std::sqrt(count));
  CHECK(std::abs(deviation - 12.75) < 5 * 12.75 / std::sqrt(2 * count) + 0.1);
}

TEST_CASE("coarse_dropout fills the sampled number of rectangles of the sampled size") {
  const TransformChain chain({"coarse_dropout((2, 4), (0.1, 0.2), (0.2, 0.3), fill=(1, 2, 3), p=1)"});
  const auto transform = make(coarse_dropout_kind(), "coarse_dropout((2, 4), (0.1, 0.2), (0.2, 0.3), p=1)");
  std::array<int, 5> counts = {};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    tenon::Random random(seed, 1);
    Steps steps;
    cv::Size size(100, 60);
    transform->draw(size, random, steps);
    ++counts.at(steps.size());
    for (const Step& step : steps) {
      const cv::Rect& area = std::get<Erase>(step).area;
      CHECK((area & cv::Rect(0, 0, 100, 60)) == area);
      CHECK(area.width >= 20);
      CHECK(area.width < 30);
      CHECK(area.height >= 6);
      CHECK(area.height < 12);
    }
  }
  for (size_t count = 2; count <= 4; ++count) CHECK(counts[count] > 60);
  const cv::Mat image(60, 100, CV_8UC3, cv::Scalar::all(200));
  TransformBuffers buffers;
  std::vector<uint8_t> pixels(image.total() * 3);
  chain.draw(image.size(), 1).write(image, cv::Rect2d(0, 0, 100, 60), buffers, pixels.data());
  const auto filled = std::count(pixels.begin(), pixels.end(), uint8_t{2});
  CHECK(filled >= 2 * 20 * 6 / 2);
}

}  // namespace detection_transforms_test
