// Compares the operations that AutoAugment, RandAugment and TrivialAugmentWide sample with torchvision's definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "framework/images/transforms/augment_operations.h"
#include "framework/images/transforms/transform.h"
#include "tests/images/reference_cases.h"

namespace transform_augment_test {

using namespace images;

namespace {

constexpr AugmentStyle kStyle = {Interpolation::nearest, {0, 0, 0}};

AugmentRanges ranges_of(const std::string& transform, cv::Size size) {
  return transform == "trivial_augment_wide" ? kWideAugmentRanges : rand_augment_ranges(size);
}

std::unique_ptr<Transform> make(const TransformKind& kind, const std::string& text) {
  return kind.make(Arguments(parse_transform(text).arguments, kind.arguments));
}

// Returns the magnitude of a step, in the unit of torchvision. 0: none.
double magnitude_of(AugmentOperation operation, const Step& step) {
  const auto matrix = [&] { return std::get<Warp>(step).matrix; };
  switch (operation) {
    case AugmentOperation::shear_x: return matrix()[1];
    case AugmentOperation::shear_y: return matrix()[3];
    case AugmentOperation::translate_x: return -matrix()[2];
    case AugmentOperation::translate_y: return -matrix()[5];
    case AugmentOperation::rotate: return std::atan2(-matrix()[1], matrix()[0]) * (180 / 3.14159265358979323846);
    case AugmentOperation::brightness: return std::get<Brightness>(step).factor - 1;
    case AugmentOperation::color: return std::get<Saturation>(step).factor - 1;
    case AugmentOperation::contrast: return std::get<Contrast>(step).factor - 1;
    case AugmentOperation::sharpness: return std::get<Sharpness>(step).factor - 1;
    case AugmentOperation::posterize: return std::get<Posterize>(step).bits;
    case AugmentOperation::solarize: return std::get<Solarize>(step).threshold / 255;
    default: return 0;
  }
}

// Identifies a step by its kind and numbers. Reversed steps have a separate text.
std::string format_step(const Step& step) {
  std::string text = std::to_string(step.index());
  const auto append = [&](double number) { text += ' ' + std::to_string(std::lround(number * 1e4)); };
  if (const auto* warp = std::get_if<Warp>(&step))
    for (const double number : warp->matrix) append(number);
  if (const auto* brightness = std::get_if<Brightness>(&step)) append(brightness->factor);
  if (const auto* saturation = std::get_if<Saturation>(&step)) append(saturation->factor);
  if (const auto* contrast = std::get_if<Contrast>(&step)) append(contrast->factor);
  if (const auto* sharpness = std::get_if<Sharpness>(&step)) append(sharpness->factor);
  if (const auto* posterize = std::get_if<Posterize>(&step)) append(posterize->bits);
  if (const auto* solarize = std::get_if<Solarize>(&step)) append(solarize->threshold);
  return text;
}

std::string format_steps(const Steps& steps) {
  std::string text;
  for (const Step& step : steps) text += format_step(step) + "; ";
  return text;
}

std::string format_operation(AugmentOperation operation, Magnitude magnitude, bool reversed,
                             const AugmentRanges& ranges, cv::Size size) {
  Steps steps;
  append_operation(operation, magnitude, reversed, ranges, kStyle, size, steps);
  return format_steps(steps);
}

// Returns how often each sequence of steps was sampled.
std::map<std::string, double> count_samples(const Transform& transform, cv::Size image, int draws) {
  std::map<std::string, double> counts;
  for (int i = 0; i < draws; ++i) {
    tenon::Random random(static_cast<uint64_t>(i), 5);
    Steps steps;
    cv::Size size = image;
    transform.draw(size, random, steps);
    CHECK(size == image);
    ++counts[format_steps(steps)];
  }
  return counts;
}

// Checks the counts against probabilities. The tolerance is five standard deviations.
void check_counts(const std::map<std::string, double>& counts, const std::map<std::string, double>& probabilities,
                  int draws) {
  double total = 0;
  for (const auto& one : probabilities) {
    const auto& text = one.first;
    const auto& probability = one.second;
    total += probability;
    const auto found = counts.find(text);
    const double count = found == counts.end() ? 0 : found->second;
    CAPTURE(text);
    CAPTURE(count);
    const double expected = probability * draws;
    CAPTURE(expected);
    CHECK(std::abs(count - expected) <= 5 * std::sqrt(expected * (1 - probability)) + 1e-6);
  }
  CHECK(total == doctest::Approx(1));
  for (const auto& one : counts) {
    CAPTURE(one.first);
    CHECK(probabilities.count(one.first) == 1);
  }
}

struct PolicyLine {
  AugmentOperation operation;
  double probability;
  int bin;
};

// Adds the probabilities of both directions of an operation, or of its absence.
std::map<std::string, double> outcomes_of(const PolicyLine& line, const AugmentRanges& ranges, cv::Size size) {
  std::map<std::string, double> outcomes = {{"", 1 - line.probability}};
  for (const bool reversed : {false, true}) {
    const double part = is_signed(line.operation) ? 0.5 : reversed ? 0 : 1;
    if (part == 0) continue;
    outcomes[format_operation(line.operation, {line.bin, 10}, reversed, ranges, size)] += line.probability * part;
  }
  return outcomes;
}

}  // namespace

TEST_CASE("each magnitude of each operation equals torchvision's") {
  int compared = 0;
  for (const std::vector<std::string>& line : read_reference_lines("magnitudes.txt")) {
    const cv::Size size(std::stoi(line.at(1)), std::stoi(line.at(2)));
    const int bins = std::stoi(line.at(3));
    const AugmentOperation operation = read_augment_operation(line.at(5));
    CHECK(is_signed(operation) == (line.at(4) == "1"));
    if (line.size() == 6) continue;
    REQUIRE(line.size() == 6 + static_cast<size_t>(bins));
    for (int bin = 0; bin < bins; ++bin) {
      const double expected = std::stod(line.at(6 + static_cast<size_t>(bin)));
      CAPTURE(line[0]);
      CAPTURE(line[5]);
      CAPTURE(bin);
      Steps steps;
      append_operation(operation, {bin, bins}, false, ranges_of(line[0], size), kStyle, size, steps);
      append_operation(operation, {bin, bins}, true, ranges_of(line[0], size), kStyle, size, steps);
      CHECK(std::abs(magnitude_of(operation, steps.at(0)) - expected) < 1e-12);
      const double reversed = is_signed(operation) ? -expected : expected;
      CHECK(std::abs(magnitude_of(operation, steps.at(1)) - reversed) < 1e-12);
      ++compared;
    }
  }
  CHECK(compared == 11 * (31 + 11 + 10 + 31 + 15));
}

TEST_CASE("auto_augment samples the pairs of the policy with torchvision's probabilities") {
  constexpr int kDraws = 100000;
  const cv::Size size(96, 72);
  const AugmentRanges ranges = rand_augment_ranges(size);
  std::map<std::string, std::map<std::string, double>> expected;
  for (const std::vector<std::string>& line : read_reference_lines("policies.txt")) {
    const auto read = [&](size_t at) {
      return PolicyLine{read_augment_operation(line.at(at)), std::stod(line.at(at + 1)),
                        std::max(std::stoi(line.at(at + 2)), 0)};
    };
    for (const auto& [first, first_probability] : outcomes_of(read(1), ranges, size))
      for (const auto& [second, second_probability] : outcomes_of(read(4), ranges, size)) {
        const double probability = first_probability * second_probability / 25;
        if (probability > 0) expected[line.at(0)][first + second] += probability;
      }
  }
  REQUIRE(expected.size() == 3);
  for (const auto& one : expected) {
    const auto& policy = one.first;
    const auto& probabilities = one.second;
    CAPTURE(policy);
    const auto transform = make(auto_augment_kind(), "auto_augment(" + policy + ")");
    check_counts(count_samples(*transform, size, kDraws), probabilities, kDraws);
  }
}

TEST_CASE("trivial_augment_wide samples operations and magnitudes uniformly") {
  constexpr int kDraws = 200000;
  const cv::Size size(96, 72);
  std::map<std::string, double> expected;
  for (int number = 0; number < kAugmentOperations; ++number)
    for (int bin = 0; bin < 31; ++bin)
      for (const bool reversed : {false, true})
        expected[format_operation(static_cast<AugmentOperation>(number), {bin, 31}, reversed, kWideAugmentRanges,
                                  size)] += 0.5 / 31 / kAugmentOperations;
  check_counts(count_samples(*make(trivial_augment_wide_kind(), "trivial_augment_wide"), size, kDraws), expected,
               kDraws);
}

TEST_CASE("rand_augment samples operations uniformly, all with one magnitude") {
  constexpr int kDraws = 100000;
  const cv::Size size(96, 72);
  std::map<std::string, double> expected;
  for (int number = 0; number < kAugmentOperations; ++number)
    for (const bool reversed : {false, true})
      expected[format_operation(static_cast<AugmentOperation>(number), {9, 31}, reversed, rand_augment_ranges(size),
                                size)] += 0.5 / kAugmentOperations;
  check_counts(count_samples(*make(rand_augment_kind(), "rand_augment(1)"), size, kDraws), expected, kDraws);
}

TEST_CASE("interpolation and fill of an operation are those of the arguments") {
  for (const TransformKind& kind : {auto_augment_kind(), trivial_augment_wide_kind()}) {
    const auto transform = make(kind, kind.name + "(interpolation=bilinear, fill=(1, 2, 3))");
    int warps = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      tenon::Random random(seed);
      Steps steps;
      cv::Size size(40, 30);
      transform->draw(size, random, steps);
      for (const Step& step : steps) {
        const auto* warp = std::get_if<Warp>(&step);
        if (!warp) continue;
        CHECK(warp->interpolation == Interpolation::bilinear);
        CHECK(warp->fill == Colour{1, 2, 3});
        ++warps;
      }
    }
    CHECK(warps > 20);
  }
}

}  // namespace transform_augment_test
