// How a model continues sequences token by token, see tenon/decoding.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/decoding.h>

#include "framework/components/calls/ports.h"

namespace tenon::components {

struct Decoding {
  size_t tokens;           // index of the input with the tokens so far
  size_t scores;           // index of the output with the scores of the token after each of them
  uint64_t cache_count;    // number of tensors in the cache
  int64_t context = 0;     // the most tokens of a sequence; 0: no limit
  int64_t vocabulary = 0;  // extent of the scores; 0: unknown
};

// The result of Model::decode.
struct Decoded {
  at::Tensor scores;              // [N, V], of the token after the last one
  std::vector<at::Tensor> cache;  // [N, ...] each
};

// Reads the description of a model with these ports. Throws Error(plugin) for invalid names or numbers.
Decoding read_decoding(const Component& component, const tenon_decoding_info& info, const PortList& ports);

}  // namespace tenon::components
