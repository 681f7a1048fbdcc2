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

// Drawn as draw_samples() does; the page says what is black and white in fields that are scaled.
std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples);

}  // namespace tenon::artifacts
