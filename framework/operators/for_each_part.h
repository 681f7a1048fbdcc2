// Work on LibTorch's operator threads.
#pragma once

#include <ATen/TensorIterator.h>
#include <torch/types.h>

#include <cstdint>

namespace tenon::operators {

// Calls visit(part) once for each part from 0 to parts - 1. A thread gets at least `parts_per_thread` parts. Visits
// must not throw.
//
// The host is not compiled with OpenMP, where at::parallel_for of the headers runs on one thread. An iterator over the
// numbers of the parts runs in LibTorch.
template <typename Visit>
void for_each_part(int64_t parts, int64_t parts_per_thread, const Visit& visit) {
  at::Tensor numbers = at::arange(parts, at::kLong);
  at::TensorIterator iterator = at::TensorIterator::borrowing_nullary_op(numbers);
  iterator.for_each(
      [&](char** data, const int64_t* strides, int64_t size, int64_t) {
        for (int64_t i = 0; i < size; ++i) visit(*reinterpret_cast<const int64_t*>(data[0] + i * strides[0]));
      },
      parts_per_thread);
}

}  // namespace tenon::operators
