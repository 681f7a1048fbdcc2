// How many multiplications and additions an operator takes, as far as it is one of those that a network's time goes
// into: products of matrices, convolutions, attention. The rest (activations, normalisation, pooling, sums) counts as
// nothing, which is also what torch.utils.flop_counter.FlopCounterMode does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/core/ivalue.h>

namespace tenon::profiling {

// In multiply-accumulates, of which each is two FLOPs. `name`: "aten::convolution"; `inputs`: of the call, as its
// schema has them. None where the operator is none of those that count; what it calls may be. Attention is counted
// whole, also where a mask makes half of it void.
//
// A convolution's gradients, of its input and of its weight, take as many as itself each. FlopCounterMode says more for
// the weight of a grouped convolution: it multiplies by the number of groups.
std::optional<int64_t> count_macs(std::string_view name, c10::ArrayRef<const c10::IValue> inputs);

// Whether it is known to take many that count_macs() cannot tell: recurrent layers of cuDNN and oneDNN.
bool is_uncounted(std::string_view name);

}  // namespace tenon::profiling
