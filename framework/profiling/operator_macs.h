// Counts the multiply-accumulates (MACs) of the operators that dominate the time of a network: matrix products,
// convolutions and attention. Activations, normalisation, pooling and sums count as 0, as in
// torch.utils.flop_counter.FlopCounterMode.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/ivalue.h>

namespace tenon::profiling {

// Returns multiply-accumulates; one is two FLOPs. `name` is the operator, such as "aten::convolution", and `inputs` are
// the inputs of the call, as in its schema. None for other operators, which may call counted ones. Attention is counted
// in full, even if a mask removes half of it.
//
// The gradients of a convolution with respect to its input and its weight each have the MACs of the convolution. For
// the weight of a grouped convolution, FlopCounterMode reports more: it multiplies by the number of groups.
std::optional<int64_t> count_macs(std::string_view name, c10::ArrayRef<const c10::IValue> inputs);

// Whether the operator has many MACs that count_macs() cannot count: recurrent layers of cuDNN and oneDNN.
bool is_uncounted(std::string_view name);

}  // namespace tenon::profiling
