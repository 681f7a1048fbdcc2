#include "host/predict/prediction_page.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "framework/artifacts/files/durable_file.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::host {

PredictionPage::PredictionPage(std::filesystem::path file, config::ClassNames names)
    : file_(std::move(file)), names_(std::move(names)) {}

void PredictionPage::add(const PredictedRows& rows) {
  for (const auto& [name, classes] : rows.class_names) names_[name == "top" ? "predicted" : name] = classes;
  const at::Tensor& indices = rows.tensors.front().second;
  for (int64_t row = 0; row < indices.size(0) && samples_.size() < kMost; ++row) {
    const bool wrong = is_wrong(rows, row);
    wrong_ += wrong;
    artifacts::SheetSample sample;
    sample.caption = rows.names.empty() ? "sample " + std::to_string(indices[row].item<int64_t>())
                                        : rows.names[static_cast<size_t>(row)];
    if (wrong) sample.caption += " (wrong)";
    for (const auto& [name, tensor] : rows.fields) add_field(sample, name, tensor, row);
    if (rows.mask.defined()) add_field(sample, "predicted", rows.mask, row);
    if (rows.top) {
      add_field(sample, "predicted", rows.top->classes, row);
      add_field(sample, "probability", rows.top->probabilities, row);
    }
    for (const auto& column : rows.tensors) {
      const bool is_shown =
          std::ranges::any_of(rows.fields, [&](const auto& field) { return field.first == column.first; });
      if (column.first != "index" && !is_shown) add_field(sample, column.first, column.second, row);
    }
    samples_.push_back(std::move(sample));
  }
}

void PredictionPage::commit(const std::string& of_data) const {
  std::string title = of_data + ": " + std::to_string(samples_.size()) + " predictions";
  if (wrong_ > 0) title += ", " + std::to_string(wrong_) + " wrong";
  artifacts::write_file_durably(file_, artifacts::make_contact_sheet(title, samples_, names_),
                                support::ErrorKind::configuration);
}

void PredictionPage::add_field(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& tensor,
                               int64_t row) {
  const at::Tensor& kept = tensors_.emplace_back(tensor[row].clone());  // the batch is reused
  sample.fields.push_back(pipeline::make_view(name, kept));
}

bool PredictionPage::is_wrong(const PredictedRows& rows, int64_t row) const {
  if (!rows.top) return false;
  const auto predicted = names_.find("predicted");
  for (const auto& [name, tensor] : rows.fields) {
    const auto classes = names_.find(name);
    const bool is_label = tensor.dim() == 1 && classes != names_.end() && predicted != names_.end() &&
                          classes->second == predicted->second;
    if (is_label) return tensor[row].item<int64_t>() != rows.top->classes[row][0].item<int64_t>();
  }
  return false;
}

}  // namespace tenon::host
