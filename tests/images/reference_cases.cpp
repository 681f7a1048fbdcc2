#include "tests/images/reference_cases.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

namespace {

const std::string kFolder = TENON_SOURCE_DIR "/tests/images/reference/transforms/";

}  // namespace

std::vector<std::vector<std::string>> read_reference_lines(const std::string& file) {
  std::ifstream stream(kFolder + file);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  if (lines.empty()) throw std::runtime_error("nothing in " + kFolder + file);
  return lines;
}

std::vector<ReferenceCase> read_reference_cases() {
  std::vector<ReferenceCase> cases;
  for (const std::vector<std::string>& words : read_reference_lines("cases.txt")) {
    ReferenceCase read = {words.at(0), std::stod(words.at(1)), words.at(2), {}, ""};
    for (size_t i = 3; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      const std::string name = words[i].substr(0, equals);
      const std::string value = words[i].substr(equals + 1);
      if (name == "interpolation") {
        read.interpolation = value;
      } else {
        read.numbers[name] = std::stod(value);
      }
    }
    cases.push_back(read);
  }
  return cases;
}

cv::Mat read_reference_image(const std::string& file) {
  const cv::Mat bgr = cv::imread(kFolder + file, cv::IMREAD_COLOR);
  if (bgr.empty()) throw std::runtime_error("cannot read " + kFolder + file);
  cv::Mat rgb;
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return rgb;
}

images::AugmentOperation read_augment_operation(const std::string& name) {
  static const char* const kNames[] = {"identity",  "shear_x",    "shear_y",       "translate_x", "translate_y",
                                       "rotate",    "brightness", "color",         "contrast",    "sharpness",
                                       "posterize", "solarize",   "auto_contrast", "equalize",    "invert"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw std::runtime_error("unknown operation: " + name);
  return static_cast<images::AugmentOperation>(found - kNames);
}

double largest_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 1e9;
  return cv::norm(a, b, cv::NORM_INF);
}

cv::Mat make_noise(cv::Size size, uint64_t seed) {
  cv::Mat image(size, CV_8UC3);
  cv::RNG(seed + 1).fill(image, cv::RNG::UNIFORM, 0, 256);
  return image;
}
