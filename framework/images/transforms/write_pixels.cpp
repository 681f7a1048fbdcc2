#include "framework/images/transforms/write_pixels.h"

#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#define IMAGES_HAS_AVX2
#define IMAGES_AVX2 __attribute__((target("avx2")))
#endif

namespace images {
namespace {

struct RowPlanes {
  float* of[3];
};

RowPlanes planes_of_row(const cv::Mat& image, float* planes, int y) {
  float* row = planes + static_cast<size_t>(y) * static_cast<size_t>(image.cols);
  return {{row, row + image.total(), row + 2 * image.total()}};
}

// Writes the columns from `begin` on of a row of the planes.
void write_row(const uint8_t* row, int width, int begin, Mirror mirror, const Scaling8Bit& scaling,
               const RowPlanes& planes) {
  for (int x = begin; x < width; ++x) {
    const uint8_t* pixel = row + 3 * static_cast<size_t>(mirror == Mirror::yes ? width - 1 - x : x);
    for (size_t channel = 0; channel < 3; ++channel) {
      const float product = static_cast<float>(pixel[channel]) * scaling.factor[channel];
      planes.of[channel][x] = product + scaling.addend[channel];
    }
  }
}

#ifdef IMAGES_HAS_AVX2

// Writes eight pixels at a time, four from each half of a register. Returns the number of columns that it wrote.
IMAGES_AVX2 int write_row_avx2(const uint8_t* row, int width, Mirror mirror, const Scaling8Bit& scaling,
                               const RowPlanes& planes) {
  const bool mirrored = mirror == Mirror::yes;
  const __m128i forward = _mm_setr_epi8(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1);
  const __m128i backward = _mm_setr_epi8(9, -1, -1, -1, 6, -1, -1, -1, 3, -1, -1, -1, 0, -1, -1, -1);
  const __m256i first_channel = _mm256_broadcastsi128_si256(mirrored ? backward : forward);
  // The read pixels must be followed by 4 more bytes than the 8 pixels have. The remaining columns are written one by
  // one.
  int x = 0;
  for (; x + 10 <= width; x += 8) {
    const uint8_t* near = row + 3 * static_cast<size_t>(mirrored ? width - 4 - x : x);
    const uint8_t* far = mirrored ? near - 12 : near + 12;
    // If mirrored, the first pixels are the row's last, and nothing after them may be read. So their bytes are shifted
    // down.
    const __m128i low = mirrored ? _mm_srli_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(near - 4)), 4)
                                 : _mm_loadu_si128(reinterpret_cast<const __m128i*>(near));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(far));
    const __m256i pixels = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    for (int channel = 0; channel < 3; ++channel) {
      const __m256i shuffle =
          _mm256_add_epi8(first_channel, _mm256_and_si256(_mm256_cmpgt_epi8(first_channel, _mm256_set1_epi8(-1)),
                                                          _mm256_set1_epi8(static_cast<char>(channel))));
      const __m256 values = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, shuffle));
      const auto at = static_cast<size_t>(channel);
      const __m256 scaled =
          _mm256_add_ps(_mm256_mul_ps(values, _mm256_set1_ps(scaling.factor[at])), _mm256_set1_ps(scaling.addend[at]));
      _mm256_storeu_ps(planes.of[channel] + x, scaled);
    }
  }
  return x;
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

#endif

}  // namespace

Scaling8Bit::Scaling8Bit(const Normalization& normalization) {
  for (size_t channel = 0; channel < 3; ++channel) {
    const double deviation = normalization.deviation[channel];
    factor[channel] = static_cast<float>(1.0 / (255.0 * deviation));
    addend[channel] = static_cast<float>(-normalization.mean[channel] / deviation);
  }
}

void write_planes_portably(const cv::Mat& image, Mirror mirror, const Scaling8Bit& scaling, float* planes) {
  for (int y = 0; y < image.rows; ++y) {
    write_row(image.ptr<uint8_t>(y), image.cols, 0, mirror, scaling, planes_of_row(image, planes, y));
  }
}

void write_planes(const cv::Mat& image, Mirror mirror, const Scaling8Bit& scaling, float* planes) {
#ifdef IMAGES_HAS_AVX2
  if (has_avx2()) {
    for (int y = 0; y < image.rows; ++y) {
      const RowPlanes row_planes = planes_of_row(image, planes, y);
      const int written = write_row_avx2(image.ptr<uint8_t>(y), image.cols, mirror, scaling, row_planes);
      write_row(image.ptr<uint8_t>(y), image.cols, written, mirror, scaling, row_planes);
    }
    return;
  }
#endif
  write_planes_portably(image, mirror, scaling, planes);
}

void write_bytes(const cv::Mat& image, Mirror mirror, uint8_t* pixels) {
  const size_t bytes = 3 * static_cast<size_t>(image.cols);
  for (int y = 0; y < image.rows; ++y, pixels += bytes) {
    const uint8_t* row = image.ptr<uint8_t>(y);
    if (mirror == Mirror::no) {
      std::memcpy(pixels, row, bytes);
    } else {
      for (size_t at = 0; at < bytes; at += 3) std::memcpy(pixels + at, row + bytes - 3 - at, 3);
    }
  }
}

}  // namespace images
