// Converts between tensors and their stored form.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::pipeline {

// Refers to the tensor's memory, not a copy. REQUIRES: it is contiguous, in host memory, and has a dtype that plugins
// support.
artifacts::TensorView view_of(const std::string& name, const at::Tensor& tensor);

// Returns a copy, so the file may be closed. The stored elements may be unaligned.
at::Tensor copy_stored(const artifacts::TensorView& stored);

// Converts bytes to a tensor of [n] uint8, and back.
at::Tensor to_byte_tensor(std::string_view bytes);
std::string to_bytes(const at::Tensor& tensor);

}  // namespace tenon::pipeline
