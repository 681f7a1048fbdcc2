// A page that shows samples as a model would get them: one HTML file with everything inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

struct SheetSample {
  std::string caption;             // "sample 17"
  std::vector<TensorView> fields;  // of this sample alone, without the batch's extent; all samples have the same ones
};

// What is drawn as an image: uint8 [height, width, 1 or 3] as it is; floats [1 or 3, height, width], scaled so that the
// field's smallest value on the page is black and its largest white, which the page says. Integers [height, width] are
// a mask of classes where an image of that size is beside them, and are drawn into a copy of it: class 0 leaves the
// image as it is, each other class has a colour of its own, and what is below 0 or above 254, as labels that are
// ignored are, is white. Other fields are written out: their shape, and the first of their values.
std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples);

}  // namespace tenon::artifacts
