// The columns that `host predict` writes: model outputs, optionally with a function applied, and dataset fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/training.h"

namespace tenon::host {

struct PredictionColumn {
  enum class Apply { nothing, softmax, sigmoid, argmax };

  std::string name;  // "logits", "logits.softmax", "label"
  pipeline::Source::Kind kind;
  size_t index;  // index of the model output or field
  Apply apply = Apply::nothing;

  // Returns [N, ...], contiguous on the CPU. Half precision is converted to float32. softmax and argmax reduce over
  // dimension 1, the classes. Throws Error(configuration) if the function does not fit the output.
  at::Tensor read(const pipeline::BatchTensors& batch_tensors) const;
};

struct ColumnChoice {
  std::optional<std::vector<std::string>> outputs;  // unset: all
  std::vector<std::string> fields;
  std::vector<std::string> apply;  // "argmax", "logits=argmax"
};

// Returns the columns for --outputs, --fields and --apply. Throws Error(configuration) for
// an unknown or repeated name, and for a function without an output.
std::vector<PredictionColumn> choose_columns(const ColumnChoice& choice, const plugins::Model& model,
                                             const std::vector<plugins::SampleField>& fields);

// Returns the class names of columns, by column: those of a field, and those of an output [N, C, ...] if the names of
// one field alone have C classes.
config::ClassNames name_columns(const std::vector<PredictionColumn>& columns,
                                const pipeline::BatchTensors& batch_tensors, const config::ClassNames& of_fields);

}  // namespace tenon::host
