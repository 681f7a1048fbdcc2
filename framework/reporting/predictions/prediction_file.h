// The output file of `host predict`, written batch by batch.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/values/class_names.h"

namespace tenon::reporting {

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;

  // Names the classes of columns, by the name of the tensor: a number is the number of a class, and a vector has an
  // element for each class. Call it before the first append().
  virtual void name_classes(const config::ClassNames& names) = 0;

  // Appends the rows of one batch. The first dimension of each tensor is the sample. Names and dtypes must be the same
  // in each call. Throws Error(configuration) with the tensor's name if the format does not support its shape or the
  // shape changes.
  virtual void append(std::span<const artifacts::TensorView> tensors) = 0;

  // Renames the file to its final name, durably. Without this call an existing file stays unchanged.
  virtual void commit() = 0;

  // Chooses the format from the suffix, .csv or .safetensors. `max_rows`: maximum number of rows. Throws
  // Error(configuration) for another suffix, or if the file cannot be created.
  static std::unique_ptr<PredictionFile> make(const std::filesystem::path& path, int64_t max_rows);
};

}  // namespace tenon::reporting
