#include "framework/pipeline/build/model_summary.h"

#include <torch/types.h>

#include <algorithm>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/state/divided_weights.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

struct Row {
  std::string module;
  std::string tensors;  // "weight [32, 1, 3, 3], bias [32]"
  int64_t parameters = 0;
};

std::string describe_bytes(int64_t bytes) {
  const double kib = static_cast<double>(bytes) / 1024;
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

// The first `depth` parts of the name of a tensor's module.
std::string name_module(const std::string& tensor, size_t depth) {
  const std::string module = components::module_of(tensor);
  if (module.empty()) return "(model)";
  size_t end = 0;
  for (size_t parts = 0; parts < depth && end < module.size(); ++parts)
    end = std::min(module.find('.', end + 1), module.size());
  return module.substr(0, end);
}

// "...layers.11.attention": the last letters of a name that is too long.
std::string shorten(const std::string& name, size_t width) {
  return name.size() <= width ? name : "..." + name.substr(name.size() + 3 - width);
}

std::vector<Row> make_rows(const std::vector<components::NamedTensor>& tensors, size_t depth) {
  std::vector<Row> rows;
  for (const components::NamedTensor& named : tensors) {
    const std::string module = name_module(named.name, depth);
    auto row = std::ranges::find(rows, module, &Row::module);
    if (row == rows.end()) row = rows.insert(rows.end(), {module, "", 0});
    if (!named.trainable) continue;
    row->tensors += (row->tensors.empty() ? "" : ", ") + named.name.substr(named.name.rfind('.') + 1) + " " +
                    c10::str(named.tensor.sizes());
    row->parameters += named.tensor.numel();
  }
  return rows;
}

}  // namespace

std::string summarize_model(const components::Model& model, size_t max_width, size_t max_rows) {
  constexpr size_t kDeepest = 8;
  size_t depth = kDeepest;
  std::vector<Row> rows = make_rows(model.tensors(), depth);
  while (rows.size() > max_rows && depth > 1) rows = make_rows(model.tensors(), --depth);
  constexpr size_t kCountWidth = 12;
  size_t module_width = 6;
  size_t tensors_width = 0;
  for (const Row& row : rows) {
    module_width = std::max(module_width, row.module.size());
    tensors_width = std::max(tensors_width, row.tensors.size());
  }
  const size_t without_tensors = 2 + module_width + 2 + kCountWidth;
  const bool shows_tensors = depth == kDeepest && (max_width == 0 || without_tensors + tensors_width + 2 <= max_width);
  if (max_width > 0 && without_tensors > max_width)
    module_width = std::max<size_t>(6, module_width - std::min(module_width, without_tensors - max_width));
  std::string text;
  const auto add_line = [&](const std::string& module, const std::string& tensors, const std::string& count) {
    text += fmt::format("  {}{}", shorten(module, module_width),
                        std::string(module_width - std::min(module_width, module.size()) + 2, ' '));
    if (shows_tensors) text += tensors + std::string(tensors_width - std::min(tensors_width, tensors.size()) + 2, ' ');
    text += fmt::format("{}{}\n", std::string(count.size() < kCountWidth ? kCountWidth - count.size() : 0, ' '), count);
  };
  add_line("module", "", "parameters");
  int64_t parameters = 0, bytes = 0, buffers = 0;
  for (const components::NamedTensor& named : model.tensors()) {
    bytes += static_cast<int64_t>(named.tensor.nbytes());
    (named.trainable ? parameters : buffers) += named.tensor.numel();
  }
  for (const Row& row : rows) add_line(row.module, row.tensors, support::group_digits(row.parameters));
  text += "  " + support::group_digits(parameters) + (parameters == 1 ? " parameter, " : " parameters, ") +
          (buffers == 0
               ? ""
               : support::group_digits(buffers) + (buffers == 1 ? " value in buffers, " : " values in buffers, ")) +
          describe_bytes(bytes) + "\n";
  return text;
}

ModelTensors::ModelTensors(const components::Model& model) : tensors_(list_tensors(model, /*only_trainable=*/true)) {}

tenon_tensor* ModelTensors::value(size_t index) const { return components::to_handle(tensors_[index].tensor); }

tenon_tensor* ModelTensors::gradient(size_t index) const {
  return components::to_handle(tensors_[index].tensor.grad());
}

}  // namespace tenon::pipeline
