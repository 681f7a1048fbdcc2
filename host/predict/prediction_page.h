// The page of `host predict --page`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/drawing/contact_sheet.h"
#include "framework/config/values/class_names.h"
#include "host/predict/predicted_rows.h"

namespace tenon::host {

// A self-contained HTML page with the first samples: their fields as the model receives them, and the predictions.
class PredictionPage {
 public:
  static constexpr size_t kMost = 200;  // samples

  // `names`: the classes of the dataset's fields.
  PredictionPage(std::filesystem::path file, config::ClassNames names);

  // Adds the samples of a batch. Marks those with a label that differs from the most probable class.
  void add(const PredictedRows& rows);

  // Writes the file, durably. `of_data`: the name of the data, for the title.
  void commit(const std::string& of_data) const;

 private:
  void add_field(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& tensor, int64_t row);
  bool is_wrong(const PredictedRows& rows, int64_t row) const;

  std::filesystem::path file_;
  config::ClassNames names_;
  std::vector<artifacts::SheetSample> samples_;
  std::vector<at::Tensor> tensors_;  // the memory of the samples' fields
  size_t wrong_ = 0;
};

}  // namespace tenon::host
