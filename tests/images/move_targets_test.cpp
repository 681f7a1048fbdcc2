// Compares how boxes, keypoints, polygons and masks move with an image with torchvision's transforms, with the values
// of make_target_reference.py.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "framework/images/transforms/move_targets.h"
#include "framework/images/transforms/transform_chain.h"

using namespace images;

namespace move_targets_test {
namespace {

struct Case {
  cv::Size size;
  cv::Mat mask;
  Steps steps;
  std::vector<float> boxes, points;
  cv::Size moved_size;
  std::vector<std::optional<std::vector<float>>> moved_boxes;  // none: it once has no area
  std::vector<float> moved_points;
  uint32_t moved_mask = 0;
};

cv::Size size_after_all(const Case& given) {
  cv::Size size = given.size;
  for (const Step& step : given.steps) size = size_after(step, size);
  return size;
}

Step make_step(const std::string& name, const std::vector<double>& n, cv::Size size) {
  const auto whole = [&](size_t i) { return static_cast<int>(n.at(i)); };
  if (name == "flip_horizontal") return Flip::horizontal;
  if (name == "flip_vertical") return Flip::vertical;
  if (name == "crop") return Crop{{whole(0), whole(1), whole(2), whole(3)}, {0, 0, 0}};
  if (name == "resize") {
    const cv::Size scaled(whole(4), whole(5));
    return Resize{
        {whole(0), whole(1), whole(2), whole(3)}, scaled, {{}, scaled}, Interpolation::bilinear, Antialias::yes};
  }
  Affine affine;
  affine.angle = name == "rotate" ? -n.at(0) : n.at(0);
  if (name == "affine") affine = {n[0], n[1], n[2], n[3], n.at(4), n.at(5)};
  const auto matrix = inverse_matrix(affine);
  const bool expands = name == "rotate" && n.at(1) == 1;
  return Warp{matrix, expands ? expanded_size(matrix, size) : size, Interpolation::nearest, {0, 0, 0}};
}

std::vector<Case> read_cases() {
  std::ifstream stream(TENON_SOURCE_DIR "/tests/images/reference/targets/cases.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind;
    if (kind == "step" || line == "moved_box dropped") words >> name;
    std::vector<double> numbers;
    for (std::string word; words >> word;) numbers.push_back(std::stod(word));
    const std::vector<float> floats(numbers.begin(), numbers.end());
    const auto whole = [&](size_t i) { return static_cast<int>(numbers.at(i)); };
    if (kind == "case") {
      Case& added = cases.emplace_back();
      added.size = {whole(0), whole(1)};
      added.mask = cv::Mat::zeros(added.size, CV_8UC1);
      continue;
    }
    Case& read = cases.back();
    if (kind == "rectangle") read.mask(cv::Rect(whole(0), whole(1), whole(2), whole(3))).setTo(whole(4));
    if (kind == "step") read.steps.push_back(make_step(name, numbers, size_after_all(read)));
    if (kind == "box") read.boxes.insert(read.boxes.end(), floats.begin(), floats.end());
    if (kind == "point") read.points.insert(read.points.end(), floats.begin(), floats.end());
    if (kind == "moved_size") read.moved_size = {whole(0), whole(1)};
    if (kind == "moved_box") read.moved_boxes.push_back(name.empty() ? std::optional(floats) : std::nullopt);
    if (kind == "moved_point") read.moved_points.insert(read.moved_points.end(), floats.begin(), floats.end());
    if (kind == "moved_mask") read.moved_mask = static_cast<uint32_t>(std::stoul(line.substr(kind.size())));
  }
  return cases;
}

// torchvision calculates in single precision. A coordinate within the images is less than 128, so that each of at most
// four steps rounds by at most 2^-18, and the product and sum of a step by a few times as much.
constexpr double kTolerance = 1e-4;

// The polygon of a box, for the part of it that remains.
std::vector<float> corners_of(const float* box) {
  return {box[0], box[1], box[2], box[1], box[2], box[3], box[0], box[3]};
}

}  // namespace

TEST_CASE("boxes, keypoints and masks move as in torchvision") {
  const std::vector<Case> cases = read_cases();
  REQUIRE(cases.size() == 200);
  size_t boxes = 0, dropped = 0, points = 0;
  for (size_t number = 0; number < cases.size(); ++number) {
    CAPTURE(number);
    const Case& given = cases[number];
    const Motions motions = motions_of(given.steps, given.size);
    CHECK(motions.steps.back().size == given.moved_size);
    const MovedRows moved = move_boxes(given.boxes, BoxFormat::xyxy, 0, motions);
    size_t row = 0;
    for (size_t i = 0; i < given.moved_boxes.size(); ++i) {
      CAPTURE(i);
      const auto& expected = given.moved_boxes[i];
      if (!expected) {
        ++dropped;
        CHECK(std::count(moved.kept_indices.begin(), moved.kept_indices.end(), static_cast<int64_t>(i)) == 0);
        continue;
      }
      ++boxes;
      REQUIRE(row < moved.kept_indices.size());
      CHECK(moved.kept_indices[row] == static_cast<int64_t>(i));
      for (size_t k = 0; k < 4; ++k) CHECK(std::abs(moved.values[4 * row + k] - (*expected)[k]) < kTolerance);
      ++row;
    }
    CHECK(row == moved.kept_indices.size());
    const std::vector<float> moved_points = move_keypoints(given.points, 2, 1, {}, motions);
    REQUIRE(moved_points.size() == given.moved_points.size());
    for (size_t i = 0; i < moved_points.size(); ++i, ++points)
      CHECK(std::abs(moved_points[i] - given.moved_points[i]) < kTolerance);

    // The chain merges steps, which changes neither the mask nor the motion.
    const SampledTransforms merged(given.size, given.steps, {}, std::nullopt, Reducing::no);
    TransformBuffers buffers;
    const cv::Mat mask = merged.move_mask(given.mask, 0, buffers).clone();
    CHECK(mask.size() == given.moved_size);
    CHECK(crc32_z(0, mask.data, mask.total()) == given.moved_mask);
    const std::vector<float> of_merged =
        move_keypoints(given.points, 2, 1, {}, motions_of(merged.geometry(), given.size));
    for (size_t i = 0; i < of_merged.size(); ++i) CHECK(std::abs(of_merged[i] - moved_points[i]) < kTolerance);
  }
  CHECK(boxes > 300);
  CHECK(dropped > 50);
  CHECK(points > 800);
}

TEST_CASE("a box of another format moves like the same box") {
  for (const Case& given : read_cases()) {
    const Motions motions = motions_of(given.steps, given.size);
    const MovedRows expected = move_boxes(given.boxes, BoxFormat::xyxy, 0.2, motions);
    std::vector<float> sizes, centers;
    for (size_t i = 0; i < given.boxes.size(); i += 4) {
      const float* box = &given.boxes[i];
      const float width = box[2] - box[0], height = box[3] - box[1];
      sizes.insert(sizes.end(), {box[0], box[1], width, height});
      centers.insert(centers.end(), {box[0] + width / 2, box[1] + height / 2, width, height});
    }
    const MovedRows by_size = move_boxes(sizes, BoxFormat::xywh, 0.2, motions);
    const MovedRows by_center = move_boxes(centers, BoxFormat::cxcywh, 0.2, motions);
    REQUIRE(by_size.kept_indices == expected.kept_indices);
    REQUIRE(by_center.kept_indices == expected.kept_indices);
    for (size_t i = 0; i < expected.values.size(); i += 4) {
      for (size_t k = 0; k < 2; ++k) {
        CHECK(by_size.values[i + k] == expected.values[i + k]);
        CHECK(std::abs(by_size.values[i + k] + by_size.values[i + k + 2] - expected.values[i + k + 2]) < 1e-4);
        CHECK(std::abs(by_center.values[i + k] - by_center.values[i + k + 2] / 2 - expected.values[i + k]) < 1e-4);
      }
    }
  }
}

TEST_CASE("a row is dropped if too small a part of it remains") {
  // A box of 10 x 10 pixels, of which 4 x 10 remain.
  const Motions crop = motions_of({Crop{{6, 0, 20, 20}, {0, 0, 0}}}, {20, 20});
  const std::vector<float> box = {0, 0, 10, 10};
  CHECK(move_boxes(box, BoxFormat::xyxy, 0.4, crop).values == std::vector<float>{0, 0, 4, 10});
  CHECK(move_boxes(box, BoxFormat::xyxy, 0.41, crop).kept_indices.empty());
  CHECK(move_polygons(corners_of(box.data()), std::vector<int64_t>{4}, 0.39, crop).kept_indices.size() == 1);
  CHECK(move_polygons(corners_of(box.data()), std::vector<int64_t>{4}, 0.41, crop).kept_indices.empty());
  const std::vector<float> turned = {5, 5, 10, 10, 0};
  CHECK(move_rotated_boxes(turned, 0.39, crop).values == std::vector<float>{-1, 5, 10, 10, 0});
  CHECK(move_rotated_boxes(turned, 0.41, crop).kept_indices.empty());
  // Outside, or without any area.
  CHECK(move_boxes(std::vector<float>{0, 0, 5, 5, 7, 3, 7, 9}, BoxFormat::xyxy, 0, crop).kept_indices.empty());
}

TEST_CASE("the polygon of a box has its area and its bounds") {
  for (const Case& given : read_cases()) {
    const bool is_upright = std::none_of(given.steps.begin(), given.steps.end(),
                                         [](const Step& step) { return std::holds_alternative<Warp>(step); });
    if (!is_upright) continue;
    const Motions motions = motions_of(given.steps, given.size);
    const MovedRows boxes = move_boxes(given.boxes, BoxFormat::xyxy, 0, motions);
    std::vector<float> corners;
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < given.boxes.size(); i += 4) {
      const std::vector<float> added = corners_of(&given.boxes[i]);
      corners.insert(corners.end(), added.begin(), added.end());
      lengths.push_back(4);
    }
    const MovedRows polygons = move_polygons(corners, lengths, 0, motions);
    REQUIRE(polygons.kept_indices == boxes.kept_indices);
    size_t at = 0;
    for (size_t row = 0; row < polygons.kept_indices.size(); ++row) {
      float bounds[4] = {1e9f, 1e9f, -1e9f, -1e9f};
      for (int64_t i = 0; i < polygons.lengths[row]; ++i, at += 2) {
        for (size_t k = 0; k < 2; ++k) {
          bounds[k] = std::min(bounds[k], polygons.values[at + k]);
          bounds[k + 2] = std::max(bounds[k + 2], polygons.values[at + k]);
        }
      }
      for (size_t k = 0; k < 4; ++k) CHECK(std::abs(bounds[k] - boxes.values[4 * row + k]) < 1e-4);
    }
    CHECK(at == polygons.values.size());
  }
}

TEST_CASE("a rotated box keeps its corners under rotation, scaling and mirroring") {
  // 30 degrees clockwise, then half the size, then mirrored.
  const Steps steps = {Warp{inverse_matrix({.angle = 30}), {100, 60}, Interpolation::nearest, {0, 0, 0}},
                       Resize{{0, 0, 100, 60}, {50, 30}, {0, 0, 50, 30}, Interpolation::bilinear, Antialias::yes},
                       Flip::horizontal};
  const Motions motions = motions_of(steps, {100, 60});
  const MovedRows moved = move_rotated_boxes(std::vector<float>{50, 30, 20, 8, 10}, 0, motions);
  REQUIRE(moved.kept_indices.size() == 1);
  // The centre of the image stays there. 40 degrees clockwise become 140 when mirrored, which is the same box at -40.
  const float expected[] = {25, 15, 10, 4, -40};
  for (size_t i = 0; i < 5; ++i) CHECK(std::abs(moved.values[i] - expected[i]) < 1e-4);
}

TEST_CASE("a mirrored image exchanges left and right keypoints, and those outside become unknown") {
  const std::vector<float> points = {2, 3, 2, /**/ 8, 3, 1, /**/ 5, 5, 0, /**/ 1, 9, 2};
  const Motions flip = motions_of({Flip::horizontal, Crop{{1, 0, 10, 8}, {0, 0, 0}}}, {10, 10});
  const std::vector<float> moved = move_keypoints(points, 3, 4, {{0, 1}}, flip);
  CHECK(moved == std::vector<float>{1, 3, 1, /**/ 7, 3, 2, /**/ 0, 0, 0, /**/ 0, 0, 0});
  // Two mirrorings are a rotation.
  const Motions twice = motions_of({Flip::horizontal, Flip::vertical}, {10, 10});
  CHECK(move_keypoints(points, 3, 4, {{0, 1}}, twice) ==
        std::vector<float>{8, 7, 2, /**/ 2, 7, 1, /**/ 0, 0, 0, /**/ 9, 1, 2});
}

}  // namespace move_targets_test
