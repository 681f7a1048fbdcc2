// Samples as people see them: their images as PNG, everything else written out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

// The fields of one sample alone, without the batch's extent.
using SampleFields = std::vector<TensorView>;

struct DrawnPicture {
  std::string name;  // of the field
  int64_t height;    // pixels of the file
  int64_t width;
  std::vector<std::byte> png;
};

struct DrawnSample {
  std::vector<DrawnPicture> pictures;
  std::vector<std::pair<std::string, std::string>> values;  // a field, and the first of its values: "label", "3"
};

// What is black and what is white in the pictures of a field.
struct GreyRange {
  double smallest;
  double largest;
};

struct DrawnSamples {
  std::vector<DrawnSample> samples;
  std::map<std::string, GreyRange> ranges;  // of the fields that are scaled
};

// What is drawn as an image: uint8 [height, width, 1 or 3] as it is; floats [1 or 3, height, width], scaled so that the
// field's smallest value in all samples is black and its largest white. Integers [height, width] are a mask of classes
// where an image of that size is in the sample, and are drawn into a copy of it: class 0 leaves the image as it is,
// each other class has a colour of its own, and what is below 0 or above 254, as labels that are ignored are, is white.
// Other fields are written out: the first of their values. `longest`: pixels of a side; larger images are shrunk by a
// whole number, each pixel the mean of those that it stands for.
DrawnSamples draw_samples(const std::vector<SampleFields>& samples, int64_t longest);

// An <img> element with the file in it. A small picture is enlarged by a whole number, so that its pixels can be told
// apart.
std::string embed_picture(const DrawnPicture& picture);

}  // namespace tenon::artifacts
