// Resampling with AVX2. Two neighbouring taps are stored next to each other in 16 bits, so that one instruction
// multiplies and adds both. A weight of 22 bits does not fit in 16 bits. So its lower and upper halves are summed
// separately and combined at the end.
#include "framework/images/resample/resample.h"

#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define IMAGES_AVX2 __attribute__((target("avx2")))

namespace images {
namespace {

IMAGES_AVX2 inline __m256i add_products(__m256i sum, __m256i pixels, int32_t weights) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pixels, _mm256_set1_epi32(weights)));
}

IMAGES_AVX2 inline __m256i round_sums(__m256i low, __m256i high) {
  return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, Weights::kLowBits)), Weights::kBits);
}

IMAGES_AVX2 inline void store_4_bytes(uint8_t* to, int32_t bytes) { std::memcpy(to, &bytes, 4); }

// Processes two rows at a time, one in each half of a register.
IMAGES_AVX2 inline void scale_pixel(const uint8_t* upper, const uint8_t* lower, const int32_t* low, const int32_t* high,
                                    int pairs, uint8_t* upper_written, uint8_t* lower_written) {
  // Pairs the channels of two RGB pixels, each in 16 bits: red and red, green and green, blue and blue.
  const __m256i pair_channels = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                                 0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  __m256i low_sum = _mm256_set1_epi32(Weights::kHalf);
  __m256i high_sum = _mm256_setzero_si256();
  for (int pair = 0; pair < pairs; ++pair, upper += 6, lower += 6) {
    const __m128i above = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(upper));
    const __m128i below = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lower));
    const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(above), below, 1);
    const __m256i pixels = _mm256_shuffle_epi8(bytes, pair_channels);
    low_sum = add_products(low_sum, pixels, low[pair]);
    high_sum = add_products(high_sum, pixels, high[pair]);
  }
  const __m256i words = _mm256_packs_epi32(round_sums(low_sum, high_sum), _mm256_setzero_si256());
  const __m256i bytes = _mm256_packus_epi16(words, words);
  store_4_bytes(upper_written, _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes)));
  store_4_bytes(lower_written, _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1)));
}

// Returns the number of outputs, from the first, with taps that are read from within the row. The taps of the others
// are copied before.
size_t count_safe_outputs(const SourceRows& source, const Weights& weights) {
  size_t safe = weights.outputs();
  const auto end_of_read = [&](size_t output) {
    return 3 * (weights.first[output] + (weights.count[output] + 1) / 2 * 2) + 2;
  };
  while (safe > 0 && end_of_read(safe - 1) > 3 * source.width) --safe;
  return safe;
}

// The end of a row, copied to memory that can be read beyond it.
class RowEnd {
 public:
  RowEnd(const SourceRows& source, const Weights& weights, size_t safe_outputs) : first_(source.width) {
    for (size_t output = safe_outputs; output < weights.outputs(); ++output) {
      first_ = std::min(first_, weights.first[output]);
    }
    pixels_.resize(3 * static_cast<size_t>(source.width - first_) + 16);
    bytes_ = 3 * static_cast<size_t>(source.width - first_);
  }
  void copy_from(const uint8_t* row) { std::memcpy(pixels_.data(), row + 3 * static_cast<size_t>(first_), bytes_); }
  const uint8_t* pixel(int place) const { return pixels_.data() + 3 * static_cast<size_t>(place - first_); }

 private:
  int first_;
  size_t bytes_;
  std::vector<uint8_t> pixels_;
};

IMAGES_AVX2 void scale_two_rows(const uint8_t* upper, const uint8_t* lower, const Weights& weights, size_t safe_outputs,
                                RowEnd& upper_end, RowEnd& lower_end, uint8_t* upper_written, uint8_t* lower_written) {
  const auto pairs_of_output = static_cast<size_t>(weights.taps) / 2;
  const auto scale = [&](size_t output, const uint8_t* above, const uint8_t* below) IMAGES_AVX2 {
    scale_pixel(above, below, weights.low.data() + output * pairs_of_output,
                weights.high.data() + output * pairs_of_output, (weights.count[output] + 1) / 2,
                upper_written + 3 * output, lower_written + 3 * output);
  };
  for (size_t output = 0; output < safe_outputs; ++output) {
    const size_t first = 3 * static_cast<size_t>(weights.first[output]);
    scale(output, upper + first, lower + first);
  }
  if (safe_outputs == weights.outputs()) return;
  upper_end.copy_from(upper);
  lower_end.copy_from(lower);
  for (size_t output = safe_outputs; output < weights.outputs(); ++output) {
    scale(output, upper_end.pixel(weights.first[output]), lower_end.pixel(weights.first[output]));
  }
}

void scale_horizontally(const SourceRows& source, const Weights& weights, const WrittenRows& written) {
  const size_t safe_outputs = count_safe_outputs(source, weights);
  RowEnd upper_end(source, weights, safe_outputs);
  RowEnd lower_end = upper_end;
  for (int y = 0; y < source.height; y += 2) {
    const auto upper = static_cast<size_t>(y);
    const auto lower = static_cast<size_t>(std::min(y + 1, source.height - 1));  // the last row twice if necessary
    scale_two_rows(source.data + upper * source.stride, source.data + lower * source.stride, weights, safe_outputs,
                   upper_end, lower_end, written.data + upper * written.stride, written.data + lower * written.stride);
  }
}

// Four registers of eight sums each, for 32 neighbouring bytes, in the order of unpacking.
struct Sums {
  __m256i of[4];
};

IMAGES_AVX2 inline void add_two_rows(const uint8_t* upper, const uint8_t* lower, int32_t low_weights,
                                     int32_t high_weights, Sums& low, Sums& high) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i above = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(upper));
  const __m256i below = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower));
  const __m256i first = _mm256_unpacklo_epi8(above, below);
  const __m256i second = _mm256_unpackhi_epi8(above, below);
  const __m256i pixels[4] = {_mm256_unpacklo_epi8(first, zero), _mm256_unpackhi_epi8(first, zero),
                             _mm256_unpacklo_epi8(second, zero), _mm256_unpackhi_epi8(second, zero)};
  for (int i = 0; i < 4; ++i) {
    low.of[i] = add_products(low.of[i], pixels[i], low_weights);
    high.of[i] = add_products(high.of[i], pixels[i], high_weights);
  }
}

IMAGES_AVX2 inline void store_sums(const Sums& low, const Sums& high, uint8_t* written) {
  __m256i rounded[4];
  for (int i = 0; i < 4; ++i) rounded[i] = round_sums(low.of[i], high.of[i]);
  const __m256i words[2] = {_mm256_packs_epi32(rounded[0], rounded[1]), _mm256_packs_epi32(rounded[2], rounded[3])};
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(written), _mm256_packus_epi16(words[0], words[1]));
}

IMAGES_AVX2 void mix_rows(const uint8_t* first_row, size_t stride, const int32_t* low_weights,
                          const int32_t* high_weights, int count, size_t bytes, uint8_t* written) {
  for (size_t at = 0; at < bytes; at += 32) {
    const __m256i half = _mm256_set1_epi32(Weights::kHalf);
    const __m256i zero = _mm256_setzero_si256();
    Sums low = {{half, half, half, half}};
    Sums high = {{zero, zero, zero, zero}};
    const uint8_t* row = first_row + at;
    for (int tap = 0; tap < count; tap += 2, row += 2 * stride) {
      // There may be no row after the last one. Its weight would be 0.
      const uint8_t* next = tap + 1 < count ? row + stride : row;
      add_two_rows(row, next, low_weights[tap / 2], high_weights[tap / 2], low, high);
    }
    store_sums(low, high, written + at);
  }
}

void scale_vertically(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written) {
  const auto pairs_of_output = static_cast<size_t>(weights.taps) / 2;
  for (size_t output = 0; output < weights.outputs(); ++output) {
    mix_rows(source.data + static_cast<size_t>(weights.first[output] - first_row) * source.stride, source.stride,
             weights.low.data() + output * pairs_of_output, weights.high.data() + output * pairs_of_output,
             weights.count[output], 3 * static_cast<size_t>(source.width), written.data + output * written.stride);
  }
}

constexpr ResamplePasses kPasses = {&scale_horizontally, &scale_vertically};

}  // namespace

const ResamplePasses* avx2_passes() { return __builtin_cpu_supports("avx2") ? &kPasses : nullptr; }

}  // namespace images

#else

namespace images {

const ResamplePasses* avx2_passes() { return nullptr; }

}  // namespace images

#endif
