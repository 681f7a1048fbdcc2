// Converts between tensors and their stored form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

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
