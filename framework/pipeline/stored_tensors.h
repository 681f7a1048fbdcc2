// Tensors as files have them, and back.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/tensor_view.h"

namespace tenon::pipeline {

// The tensor itself, not a copy. REQUIRES: it is contiguous, in the host's memory, and of a dtype that a plugin can
// have.
artifacts::TensorView view_of(const std::string& name, const at::Tensor& tensor);

// A copy: the file may go, and may have it less aligned than its elements.
at::Tensor copy_stored(const artifacts::TensorView& stored);

// [n] uint8, and back.
at::Tensor to_byte_tensor(std::string_view bytes);
std::string to_bytes(const at::Tensor& tensor);

}  // namespace tenon::pipeline
