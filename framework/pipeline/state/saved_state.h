// The state that resuming a run needs in addition to the model's weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// The name of the number of ranks among the numbers of a saved run.
inline constexpr const char* kWorldSize = "world_size";

// Names have dots: `optimizer.fc.weight.exp_avg`, `epoch`, `log.counted_from_s`.
struct SavedState {
  std::map<std::string, double> numbers;
  std::map<std::string, at::Tensor> tensors;

  // Stores bytes as a tensor of [n] uint8.
  void put_bytes(const std::string& name, std::string_view bytes);

  // These throw Error(checkpoint) naming the missing entry.
  double number(const std::string& name) const;
  int64_t count(const std::string& name) const;  // a number that was saved as an integer
  const at::Tensor& tensor(const std::string& name) const;
  std::string bytes(const std::string& name) const;

  // All tensors with names that start with `prefix`, which is removed.
  std::vector<optimization::NamedTensor> tensors_under(const std::string& prefix) const;
};

// Refers to the tensor's memory, not a copy. REQUIRES: it is contiguous, in host memory, and has a dtype that plugins
// support.
artifacts::TensorView make_view(const std::string& name, const at::Tensor& tensor);

// Returns a copy, so the file may be closed. The stored elements may be unaligned.
at::Tensor copy_stored(const artifacts::TensorView& stored);

// The tensors of a file, for reading only. They refer to the mapped file, which they keep open. Tensors that are not
// aligned in the file are copies.
std::vector<optimization::NamedTensor> map_tensors(std::shared_ptr<const artifacts::SafetensorsFile> file);

// Converts bytes to a tensor of [n] uint8, and back.
at::Tensor to_byte_tensor(std::string_view bytes);
std::string to_bytes(const at::Tensor& tensor);

}  // namespace tenon::pipeline
