// What make_transform_reference.py wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

struct ReferenceCase {
  std::string file;
  double tolerance;       // in levels of 8 bits
  std::string operation;  // and its numbers, by name
  std::map<std::string, double> numbers;
  std::string interpolation;

  double operator[](const std::string& name) const { return numbers.at(name); }
  int whole(const std::string& name) const { return static_cast<int>(numbers.at(name)); }
};

std::vector<ReferenceCase> read_reference_cases();

// 8-bit RGB.
cv::Mat read_reference_image(const std::string& file);

// The lines of a file of numbers, split at spaces.
std::vector<std::vector<std::string>> read_reference_lines(const std::string& file);

// The largest difference of a channel, in levels.
double largest_difference(const cv::Mat& a, const cv::Mat& b);

// 8-bit RGB noise, the same for each seed.
cv::Mat make_noise(cv::Size size, uint64_t seed);
