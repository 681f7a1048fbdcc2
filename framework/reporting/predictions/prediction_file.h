// The output file of `host predict`, written batch by batch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/values/class_names.h"

namespace tenon::reporting {

// A column of texts in UTF-8, one per sample.
struct TextColumn {
  std::string name;
  std::vector<std::string> rows;
};

// The most probable classes of each sample, the most probable first.
struct TopClasses {
  artifacts::TensorView classes;        // int64 [N, K]
  artifacts::TensorView probabilities;  // float32 [N, K]
};

// The rows of one batch.
struct PredictionRows {
  std::vector<artifacts::TensorView> tensors;  // the first dimension is the sample; the first tensor is `index`
  std::vector<TextColumn> texts;               // empty if the format does not hold text
  std::vector<std::string> names;              // of the samples; empty: they have none, or the format holds no text
  std::optional<TopClasses> top = {};
  // Of tensors that are padded, by name: the shape of each sample without its padding, int64 [N, D].
  std::map<std::string, artifacts::TensorView> shapes = {};
};

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;

  // Names the classes of columns, by the name of the tensor: a number is the number of a class, and a vector has an
  // element for each class. "top" names those of PredictionRows::top. Call it before the first append().
  void name_classes(const config::ClassNames& names) { names_ = names; }

  // Appends the rows of one batch, without their padding: .jsonl has lists, .csv has them in one column as JSON, and
  // .safetensors has `NAME.values` with the rows of all samples, and `NAME.offsets`, int64 [samples + 1], where those
  // of each sample begin; if another extent than the first differs, the elements of all samples, and `NAME.shapes`.
  // Texts are written after the tensors. Names and dtypes must be the same in each call. Throws Error(configuration)
  // with the tensor's name if the format does not support its shape or the shape changes.
  virtual void append(const PredictionRows& rows) = 0;

  // Renames the file to its final name, durably. Without this call an existing file stays unchanged.
  virtual void commit() = 0;

  // Whether the format of this suffix has columns of texts.
  static bool holds_text(const std::filesystem::path& path);

  // Chooses the format from the suffix, .csv, .jsonl or .safetensors. `max_rows`: maximum number of rows. Throws
  // Error(configuration) for another suffix, or if the file cannot be created.
  static std::unique_ptr<PredictionFile> make(const std::filesystem::path& path, int64_t max_rows);

 protected:
  config::ClassNames names_;
};

}  // namespace tenon::reporting
