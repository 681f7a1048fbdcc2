// What of a batch `host predict` writes: outputs of the model, perhaps with a function applied, and fields.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/training.h"
#include "host/command_line.h"

namespace tenon::host {

struct PredictionColumn {
  enum class Apply { nothing, softmax, sigmoid, argmax };

  std::string name;  // "logits", "logits.softmax", "label"
  pipeline::Source::Kind kind;
  size_t index;  // among the model's outputs, or the fields
  Apply apply = Apply::nothing;

  // [N, ...], contiguous on the CPU; half precision has become float32. softmax and argmax run over dimension 1, the
  // classes. Throws Error(configuration) where the function does not fit the output.
  at::Tensor read(const pipeline::Flow& flow) const;
};

// The columns that --outputs, --fields and --apply of the command line ask for; all outputs where it names none. Throws
// Error(configuration) for a name that does not exist or comes twice, and a function that belongs to no output.
std::vector<PredictionColumn> choose_columns(const CommandLine& line, const plugins::Model& model,
                                             const std::vector<plugins::SampleField>& fields);

}  // namespace tenon::host
