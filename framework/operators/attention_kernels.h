// Attention of one head and one sample, in float. The loops are for short sequences, since they keep all keys and
// values in a workspace. Compiled for several instruction sets; the best one of this processor is chosen at run time.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::operators {

// A matrix with contiguous rows.
template <typename Value>
struct Rows {
  Value* data;
  int64_t distance;  // of a row to the next one, in elements

  Value* operator[](int64_t row) const { return data + row * distance; }
};

// softmax(scale * query * key^T + mask) * value. Without a mask, its data is null.
struct AttentionHead {
  int64_t queries, keys, size;
  Rows<const float> query, key, value;  // [queries, size], [keys, size], [keys, size]
  Rows<const float> mask;               // [queries, keys]
  int64_t mask_step;                    // of a key to the next one
  float scale;
  bool is_causal;  // query i sees the keys up to i
};

struct AttentionResult {
  Rows<float> output;   // [queries, size]
  Rows<float> log_sum;  // [queries, 1]: of the exponentials
};

struct AttentionGradients {
  Rows<const float> of_output, output, log_sum;  // [queries, size], [queries, size], [queries, 1]
  Rows<float> of_query, of_key, of_value;        // [queries, size], [keys, size], [keys, size]
};

struct AttentionKernels {
  // Computes the queries from `first` to `end`, where `first` is a multiple of 32. A query that sees no key, because
  // the mask is -infinity, has the output 0, and 0 as the logarithm.
  void (*compute)(const AttentionHead& head, int64_t first, int64_t end, float* workspace,
                  const AttentionResult& result);
  void (*propagate)(const AttentionHead& head, float* workspace, const AttentionGradients& gradients);
};

// The floats of the workspaces.
int64_t attention_workspace(int64_t keys, int64_t size);
int64_t attention_backward_workspace(int64_t keys, int64_t size);

const AttentionKernels& attention_kernels();

// Those that this processor can run, the best first.
std::vector<const AttentionKernels*> all_attention_kernels();

}  // namespace tenon::operators
