// A self-contained HTML page that shows samples in the form in which a model receives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

struct SheetSample {
  std::string caption;             // "sample 17"
  std::vector<TensorView> fields;  // without the batch dimension; the same fields in all samples
};

// Renders the samples with render_samples() and the names of classes. The page shows the values of black and white for
// scaled fields, and the colours of the classes in masks.
std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples,
                               const config::ClassNames& names = {});

}  // namespace tenon::artifacts
