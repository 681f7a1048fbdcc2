// The columns that `host predict` writes: model outputs, optionally with a function applied, and dataset fields.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "framework/components/kinds/tokenizer.h"
#include "framework/pipeline/build/training.h"

namespace tenon::host {

struct PredictionColumn {
  enum class Apply { nothing, softmax, sigmoid, argmax, text };

  std::string name;    // "logits", "logits.softmax", "label", "source.text", "data.index"
  std::string source;  // the output, result or field
  pipeline::Source::Kind kind;
  size_t index;  // index of the model output, result or field
  Apply apply = Apply::nothing;

  // Returns [N, ...], contiguous on the CPU. Half precision is converted to float32. softmax and argmax reduce over
  // dimension 1, the classes. Throws Error(configuration) if the function does not fit the output. REQUIRES: not
  // is_text().
  at::Tensor read(const pipeline::BatchTensors& batch_tensors) const;

  // Whether the column holds texts of tokens, one per sample.
  bool is_text() const { return apply == Apply::text; }

  // Returns a text for each sample. Throws Error(configuration) if the tensor holds no tokens, and Error(data) for one
  // outside of the vocabulary. REQUIRES: is_text().
  std::vector<std::string> read_text(const pipeline::BatchTensors& batch_tensors,
                                     const components::Tokenizer& tokenizer) const;
};

struct ColumnChoice {
  std::optional<std::vector<std::string>> outputs;  // also results; unset: all results, or without any all outputs
  std::vector<std::string> fields;
  std::vector<std::string> apply;     // "argmax", "logits=argmax"
  std::vector<std::string> reserved;  // names of other columns of the file
};

// What a column of texts needs.
struct TextSupport {
  const std::optional<components::Tokenizer>& tokenizer;  // the dataset's
  bool is_writable;                                       // the file holds text
};

// Returns the columns for --outputs, --fields and --apply. A field of tokens becomes a text if the file holds text.
// Where an output and a field have the same name, or one that is reserved, the columns have the names of the run file:
// "model.area" and "data.area". Throws Error(configuration) for an unknown or repeated name, for a function without an
// output, and for a text without a tokenizer or in a file that holds none.
std::vector<PredictionColumn> choose_columns(const ColumnChoice& choice, const components::Model& model,
                                             const std::vector<components::SampleField>& fields,
                                             const TextSupport& text);

// Returns the class names of columns, by column: those of a field, and those of an output [N, C, ...] if the names of
// one field alone have C classes.
config::ClassNames name_columns(const std::vector<PredictionColumn>& columns,
                                const pipeline::BatchTensors& batch_tensors, const config::ClassNames& of_fields);

}  // namespace tenon::host
