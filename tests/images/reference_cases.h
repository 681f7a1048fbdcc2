// Reads the files that make_transform_reference.py wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "framework/images/transforms/augment_operations.h"

struct ReferenceCase {
  std::string file;
  double tolerance;       // in 8-bit levels
  std::string operation;  // the operation and its named numbers
  std::map<std::string, double> numbers;
  std::string interpolation;

  double operator[](const std::string& name) const { return numbers.at(name); }
  int whole(const std::string& name) const { return static_cast<int>(numbers.at(name)); }
};

std::vector<ReferenceCase> read_reference_cases();

// Returns 8-bit RGB.
cv::Mat read_reference_image(const std::string& file);

// Returns the lines of a file of numbers, split at spaces.
std::vector<std::vector<std::string>> read_reference_lines(const std::string& file);

// The operation that make_transform_reference.py writes with this name.
images::AugmentOperation read_augment_operation(const std::string& name);

// Returns the largest difference of a channel, in levels.
double largest_difference(const cv::Mat& a, const cv::Mat& b);

// Returns 8-bit RGB noise that depends only on the seed.
cv::Mat make_noise(cv::Size size, uint64_t seed);
