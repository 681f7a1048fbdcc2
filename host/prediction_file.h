// The file that predictions go to, written as they come.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "framework/artifacts/tensor_view.h"

namespace tenon::host {

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;

  // The rows of one batch: tensors with the batch's samples as their first dimension, the same names and dtypes each
  // time. Throws Error(configuration) naming the tensor whose shape the format has no room for, or that had another
  // shape before.
  virtual void append(std::span<const artifacts::TensorView> tensors) = 0;

  // Puts the file under its name, durably. Without it, what was there stays.
  virtual void commit() = 0;

  // By the name's end, .csv or .safetensors. `most_rows`: how many will come at most. Throws Error(configuration) for
  // another end, and where the file cannot be made.
  static std::unique_ptr<PredictionFile> make(const std::filesystem::path& path, int64_t most_rows);
};

}  // namespace tenon::host
