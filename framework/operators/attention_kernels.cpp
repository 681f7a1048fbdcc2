#include "framework/operators/attention_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "framework/operators/vectors.h"

namespace tenon::operators {

namespace {

constexpr int64_t kQueriesAtOnce = 32;
constexpr int64_t kCausalQueriesAtOnce = 16;  // fewer: keys that no query of a block sees are left out
constexpr int64_t kPadding = 16;              // the rows of a workspace have a multiple of it
constexpr int64_t kTileRows = 8;              // a block has a multiple of it
constexpr float kMasked = -std::numeric_limits<float>::infinity();

int64_t pad(int64_t size, int64_t to = kPadding) { return (size + to - 1) / to * to; }

constexpr std::array<int32_t, 16> kIndices = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// A matrix with any strides.
struct Factor {
  const float* data;
  int64_t row_distance, column_distance;
};

template <typename Floats, typename Ints>
struct AttentionLoops {
  static constexpr size_t kBytes = sizeof(Floats);
  static constexpr int64_t kLanes = kBytes / sizeof(float);
  // The sums of a tile stay in registers. AVX-512 has 32 of them.
  static constexpr int64_t kRows = kLanes == 16 ? kTileRows : kTileRows / 2;

  TENON_INLINE static void read(const float* from, Floats& to) { std::memcpy(&to, from, kBytes); }
  TENON_INLINE static void write(const Floats& from, float* to) { std::memcpy(to, &from, kBytes); }

  template <typename Combination>
  TENON_INLINE static float combine_all(const Floats& vector) {
    float values[kLanes];
    std::memcpy(values, &vector, kBytes);
    return combine<Combination>(values);
  }

  // kRows x (Vectors * kLanes) values of a product with `steps` terms.
  template <int64_t Vectors, bool Adds>
  TENON_INLINE static void multiply_tile(const Factor& a, const float* b, int64_t b_distance, int64_t steps, float* c,
                                         int64_t c_distance) {
    Floats sums[kRows][Vectors];
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < Vectors; ++v) {
        if (Adds)
          read(c + r * c_distance + v * kLanes, sums[r][v]);
        else
          sums[r][v] = Floats{};
      }
    const float* factors = a.data;
    for (int64_t k = 0; k < steps; ++k, factors += a.column_distance, b += b_distance) {
      Floats row[Vectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < Vectors; ++v) read(b + v * kLanes, row[v]);
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; ++r) {
        const float factor = factors[r * a.row_distance];
#pragma GCC unroll 2
        for (int64_t v = 0; v < Vectors; ++v) sums[r][v] += factor * row[v];
      }
    }
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < Vectors; ++v) write(sums[r][v], c + r * c_distance + v * kLanes);
  }

  // c = a * b, or adds it. `rows` is a multiple of kTileRows, `columns` of kPadding.
  template <bool Adds>
  TENON_INLINE static void multiply(Factor a, const float* b, int64_t b_distance, int64_t rows, int64_t columns,
                                    int64_t steps, float* c, int64_t c_distance) {
    for (int64_t r = 0; r < rows; r += kRows, a.data += kRows * a.row_distance, c += kRows * c_distance) {
      int64_t n = 0;
      for (; n + 2 * kLanes <= columns; n += 2 * kLanes)
        multiply_tile<2, Adds>(a, b + n, b_distance, steps, c + n, c_distance);
      if (n < columns) multiply_tile<1, Adds>(a, b + n, b_distance, steps, c + n, c_distance);
    }
  }

  // Copies `rows` rows of `size` elements, multiplied by `scale`, and pads them with zeros.
  TENON_INLINE static void copy(const Rows<const float>& from, int64_t rows, int64_t padded_rows, int64_t size,
                                float* to, float scale = 1) {
    const int64_t distance = pad(size);
    for (int64_t r = 0; r < rows; ++r, to += distance) {
      const float* row = from[r];
      int64_t c = 0;
      Floats part;
      for (; c + kLanes <= size; c += kLanes) {
        read(row + c, part);
        part *= scale;
        write(part, to + c);
      }
      for (; c < size; ++c) to[c] = row[c] * scale;
      for (; c < distance; ++c) to[c] = 0;
    }
    std::fill_n(to, (padded_rows - rows) * distance, 0.0F);
  }

  // to [size, pad(rows)] = from^T.
  TENON_INLINE static void transpose(const Rows<const float>& from, int64_t rows, int64_t size, float* to) {
    const int64_t distance = pad(rows);
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      int64_t c = 0;
      for (; c + 4 <= size; c += 4) {
        Floats4 in[4];
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; ++i) std::memcpy(&in[i], from[r + i] + c, sizeof in[i]);
        const Floats4 low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
                      high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7),
                      low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5),
                      high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
        const Floats4 out[4] = {
            __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
            __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; ++i) std::memcpy(to + (c + i) * distance + r, &out[i], sizeof out[i]);
      }
      for (; c < size; ++c)
        for (int64_t i = 0; i < 4; ++i) to[c * distance + r + i] = from[r + i][c];
    }
    for (int64_t c = 0; c < size; ++c) {
      for (int64_t last = r; last < rows; ++last) to[c * distance + last] = from[last][c];
      std::fill(to + c * distance + rows, to + (c + 1) * distance, 0.0F);
    }
  }

  // Adds the mask of a query to its scores, and sets those of keys that it does not see to -infinity.
  TENON_INLINE static void mask_scores(const AttentionHead& head, int64_t query, int64_t columns, float* scores) {
    const int64_t seen = seen_keys(head, query + 1);
    if (head.mask.data) {
      const float* mask = head.mask[query];
      for (int64_t k = 0; k < seen; ++k) scores[k] += mask[k * head.mask_step];
    }
    Ints indices;
    std::memcpy(&indices, kIndices.data(), sizeof indices);
    for (int64_t c = seen / kLanes * kLanes; c < columns; c += kLanes) {
      Floats x;
      read(scores + c, x);
      x = indices < static_cast<int32_t>(seen - c) ? x : Floats{} + kMasked;
      write(x, scores + c);
    }
  }

  // Replaces a row of scores by exp(score - max). Returns 1 / their sum, and writes its logarithm.
  TENON_INLINE static float exponentiate_scores(int64_t columns, float* scores, float& log_sum) {
    Floats most = Floats{} + kMasked, sums{};
    for (int64_t c = 0; c < columns; c += kLanes) {
      Floats x;
      read(scores + c, x);
      Max::add(most, x);
    }
    float max = combine_all<Max>(most);
    if (max == kMasked) max = 0;
    for (int64_t c = 0; c < columns; c += kLanes) {
      Floats x;
      read(scores + c, x);
      x -= max;
      exponentiate<Ints>(x);
      sums += x;
      write(x, scores + c);
    }
    const float total = combine_all<Sum>(sums);
    log_sum = total == 0 ? 0 : max + std::log(total);
    return total == 0 ? 0 : 1 / total;
  }

  // The scalar product of two rows. `columns` is a multiple of kPadding.
  TENON_INLINE static float multiply_rows(const float* one, const float* other, int64_t columns) {
    Floats sums{};
    for (int64_t c = 0; c < columns; c += kLanes) {
      Floats x, y;
      read(one + c, x);
      read(other + c, y);
      sums += x * y;
    }
    return combine_all<Sum>(sums);
  }

  // Writes the first `size` values of each row, multiplied by its scale.
  TENON_INLINE static void write_rows(const float* from, int64_t rows, int64_t size, const float* scales,
                                      const Rows<float>& to) {
    for (int64_t r = 0; r < rows; ++r, from += pad(size)) {
      float* const row = to[r];
      int64_t c = 0;
      Floats part;
      for (; c + kLanes <= size; c += kLanes) {
        read(from + c, part);
        part *= scales[r];
        write(part, row + c);
      }
      for (; c < size; ++c) row[c] = from[c] * scales[r];
    }
  }

  TENON_INLINE static int64_t seen_keys(const AttentionHead& head, int64_t end) {
    return head.is_causal ? std::min(end, head.keys) : head.keys;
  }

  // Calls visit(first query, number of queries, padded number, padded number of keys that they see) for each block of
  // the queries from `from` to `end`.
  template <typename Visit>
  TENON_INLINE static void visit_blocks(const AttentionHead& head, int64_t from, int64_t end, const Visit& visit) {
    const int64_t at_once = head.is_causal ? kCausalQueriesAtOnce : kQueriesAtOnce;
    for (int64_t first = from; first < end; first += at_once) {
      const int64_t rows = std::min(at_once, end - first);
      visit(first, rows, pad(rows, kTileRows), pad(seen_keys(head, first + rows)));
    }
  }

  TENON_INLINE static void compute(const AttentionHead& head, int64_t from, int64_t end, float* workspace,
                                   const AttentionResult& result) {
    const int64_t seen = seen_keys(head, end), keys = pad(seen), size = pad(head.size);
    float* const key = workspace;                         // [head.size, keys]
    float* const value = key + head.size * keys;          // [keys, size]
    float* const query = value + keys * size;             // [kQueriesAtOnce, size]
    float* const scores = query + kQueriesAtOnce * size;  // [kQueriesAtOnce, keys]
    transpose(head.key, seen, head.size, key);
    copy(head.value, seen, keys, head.size, value);
    visit_blocks(
        head, from,
        end, [&](int64_t first, int64_t rows, int64_t padded, int64_t columns) __attribute__((always_inline)) {
          copy({head.query[first], head.query.distance}, rows, padded, head.size, query, head.scale);
          multiply<false>({query, size, 1}, key, keys, padded, columns, head.size, scores, keys);
          float scales[kQueriesAtOnce];
          for (int64_t r = 0; r < rows; ++r) {
            mask_scores(head, first + r, columns, scores + r * keys);
            scales[r] = exponentiate_scores(columns, scores + r * keys, *result.log_sum[first + r]);
          }
          float* const output = query;
          multiply<false>({scores, keys, 1}, value, size, padded, size, columns, output, size);
          write_rows(output, rows, head.size, scales, {result.output[first], result.output.distance});
        });
  }

  TENON_INLINE static void propagate(const AttentionHead& head, float* workspace, const AttentionGradients& gradients) {
    const int64_t keys = pad(head.keys), size = pad(head.size);
    float* const transposed_key = workspace;                            // [head.size, keys]
    float* const transposed_value = transposed_key + head.size * keys;  // [head.size, keys]
    float* const key = transposed_value + head.size * keys;             // [keys, size]
    float* const of_key = key + keys * size;                            // [keys, size]
    float* const of_value = of_key + keys * size;                       // [keys, size]
    float* const query = of_value + keys * size;                        // [kQueriesAtOnce, size]
    float* const of_output = query + kQueriesAtOnce * size;             // [kQueriesAtOnce, size]
    float* const output = of_output + kQueriesAtOnce * size;            // [kQueriesAtOnce, size], then of_query
    float* const weights = output + kQueriesAtOnce * size;              // [kQueriesAtOnce, keys]
    float* const of_scores = weights + kQueriesAtOnce * keys;           // [kQueriesAtOnce, keys]
    float scales[kQueriesAtOnce];
    std::fill_n(scales, kQueriesAtOnce, head.scale);
    transpose(head.key, head.keys, head.size, transposed_key);
    transpose(head.value, head.keys, head.size, transposed_value);
    copy(head.key, head.keys, keys, head.size, key);
    std::fill_n(of_key, 2 * keys * size, 0.0F);
    visit_blocks(
        head, 0,
        head.queries, [&](int64_t first, int64_t rows, int64_t padded, int64_t columns) __attribute__((always_inline)) {
          copy({head.query[first], head.query.distance}, rows, padded, head.size, query, head.scale);
          copy({gradients.output[first], gradients.output.distance}, rows, padded, head.size, output);
          copy({gradients.of_output[first], gradients.of_output.distance}, rows, padded, head.size, of_output);
          multiply<false>({query, size, 1}, transposed_key, keys, padded, columns, head.size, weights, keys);
          multiply<false>({of_output, size, 1}, transposed_value, keys, padded, columns, head.size, of_scores, keys);
          for (int64_t r = 0; r < rows; ++r) {
            float* const row = weights + r * keys;
            float* const of_row = of_scores + r * keys;
            mask_scores(head, first + r, columns, row);
            const float expected = multiply_rows(output + r * size, of_output + r * size, size);
            const float log_sum = *gradients.log_sum[first + r];
            for (int64_t c = 0; c < columns; c += kLanes) {
              Floats x, of_weights;
              read(row + c, x);
              x -= log_sum;
              exponentiate<Ints>(x);
              write(x, row + c);
              read(of_row + c, of_weights);
              x *= of_weights - expected;
              write(x, of_row + c);
            }
          }
          multiply<false>({of_scores, keys, 1}, key, size, padded, size, columns, output, size);
          write_rows(output, rows, head.size, scales, {gradients.of_query[first], gradients.of_query.distance});
          multiply<true>({of_scores, 1, keys}, query, size, columns, size, rows, of_key, size);
          multiply<true>({weights, 1, keys}, of_output, size, columns, size, rows, of_value, size);
        });
    for (int64_t k = 0; k < head.keys; ++k) {
      std::memcpy(gradients.of_key[k], of_key + k * size, static_cast<size_t>(head.size) * sizeof(float));
      std::memcpy(gradients.of_value[k], of_value + k * size, static_cast<size_t>(head.size) * sizeof(float));
    }
  }
};

// TENON_ATTENTION_KERNELS(NAME, LANES, ATTRIBUTES): the loops with vectors of that many floats, compiled with the
// attributes.
#define TENON_ATTENTION_KERNELS(NAME, LANES, ...)                                                                  \
  struct NAME {                                                                                                    \
    __VA_ARGS__ static void compute(const AttentionHead& head, int64_t first, int64_t end, float* workspace,       \
                                    const AttentionResult& result) {                                               \
      AttentionLoops<Floats##LANES, Ints##LANES>::compute(head, first, end, workspace, result);                    \
    }                                                                                                              \
    __VA_ARGS__ static void propagate(const AttentionHead& head, float* workspace, const AttentionGradients& to) { \
      AttentionLoops<Floats##LANES, Ints##LANES>::propagate(head, workspace, to);                                  \
    }                                                                                                              \
    static constexpr AttentionKernels kAll = {compute, propagate};                                                 \
  };

TENON_ATTENTION_KERNELS(PortableAttention, 4)
#if defined(__x86_64__)
TENON_ATTENTION_KERNELS(Avx2Attention, 8, TENON_AVX2)
TENON_ATTENTION_KERNELS(Avx512Attention, 16, TENON_AVX512)
#endif

}  // namespace

int64_t attention_workspace(int64_t keys, int64_t size) {
  return pad(keys) * (2 * pad(size) + kQueriesAtOnce) + kQueriesAtOnce * pad(size);
}

int64_t attention_backward_workspace(int64_t keys, int64_t size) {
  return pad(keys) * (5 * pad(size) + 2 * kQueriesAtOnce) + 3 * kQueriesAtOnce * pad(size);
}

std::vector<const AttentionKernels*> all_attention_kernels() {
  std::vector<const AttentionKernels*> all;
#if defined(__x86_64__)
  if (has_avx512()) all.push_back(&Avx512Attention::kAll);
  if (has_avx2()) all.push_back(&Avx2Attention::kAll);
#endif
  all.push_back(&PortableAttention::kAll);
  return all;
}

const AttentionKernels& attention_kernels() {
  static const AttentionKernels& best = *all_attention_kernels().front();
  return best;
}

}  // namespace tenon::operators
