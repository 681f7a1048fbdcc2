// The fields of a sample, and the memory that a dataset writes them to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/abi.h>

#include "framework/support/compute/aligned_buffer.h"

namespace tenon::components {

// An element of any dtype, stored in the first bytes.
using Element = std::array<std::byte, 16>;

// Converts the value to an element of the dtype; nothing if the dtype cannot represent it. Integers represent the whole
// numbers in their range, bool 0 and 1. Floating-point dtypes round to the nearest (ties to even) and represent
// infinities and NaN, but no finite number becomes infinite. Complex numbers have no imaginary part. REQUIRES:
// dtype_bytes(dtype) > 0.
std::optional<Element> encode_element(int32_t dtype, double value);

struct SampleField {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32 ... of tenon/abi.h
  std::vector<int64_t> shape;  // of one sample; -1 for an extent that differs between samples
  size_t element_bytes;
  size_t sample_bytes;   // of one sample; 0 if the size varies
  Element padding = {};  // used only if the size varies
  // The rest is declared by tenon/draft/field_details.h.
  uint32_t role = 0;         // TENON_FIELD_BOXES, ..., or TENON_FIELD_NUMBERS
  std::string image = {};    // name of the field with the image; "" without a role
  std::string classes = {};  // name of the field with the classes of boxes; ""
  int64_t least_extent = 0;  // each extent of -1 is at least this in a batch

  bool is_varying() const { return std::find(shape.begin(), shape.end(), -1) != shape.end(); }
  bool is_integer() const { return (TENON_ANY_INTEGER & TENON_DTYPE_BIT(dtype)) != 0; }
};

// Returns body(T()) with the integer type T of the dtype. REQUIRES: the dtype is that of an integer, or bool.
template <class Body>
auto visit_integer(int32_t dtype, const Body& body) {
  switch (dtype) {
    case TENON_INT64: return body(int64_t{});
    case TENON_INT32: return body(int32_t{});
    case TENON_INT16: return body(int16_t{});
    case TENON_INT8: return body(int8_t{});
    default: return body(uint8_t{});
  }
}

// More than any sample has.
inline constexpr size_t kMaxSampleBytes = size_t{1} << 40;

// The bytes of one sample; nothing if they exceed kMaxSampleBytes. An extent of -1 counts as 1. For the limit, so does
// an extent of 0, which keeps the strides of an empty batch in range.
inline std::optional<size_t> count_sample_bytes(std::span<const int64_t> shape, size_t element_bytes) {
  size_t bytes = element_bytes;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(std::max<int64_t>(extent, 1)), &bytes)) return std::nullopt;
  if (bytes > kMaxSampleBytes) return std::nullopt;
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? bytes : 0;
}

// A varying-size field of one sample, in separate memory until the batch is complete.
class VaryingSample {
 public:
  VaryingSample() = default;
  // resize() fills the memory with a byte, and `margin` bytes before and after it: a plugin must write the former and
  // not the latter.
  VaryingSample(size_t margin, std::byte fill) : margin_(margin), fill_(fill) {}

  // Returns memory for this shape and discards the previous contents. Throws std::bad_alloc.
  std::byte* resize(std::span<const int64_t> shape, size_t bytes) {
    std::byte* memory = buffer_.reserve(bytes + 2 * margin_);
    if (margin_ > 0) std::fill_n(memory, bytes + 2 * margin_, fill_);
    shape_.assign(shape.begin(), shape.end());
    bytes_ = bytes;
    return memory + margin_;
  }

  std::span<const int64_t> shape() const { return shape_; }
  std::byte* data() const { return buffer_.data() + margin_; }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<int64_t> shape_;
  size_t bytes_ = 0;
  size_t margin_ = 0;
  std::byte fill_{};
  support::AlignedBuffer buffer_;
};

// The destination of one field of one sample. Exactly one of the two is set.
struct SampleSlot {
  std::byte* fixed = nullptr;        // sample_bytes within the batch itself
  VaryingSample* varying = nullptr;  // must be resized to the shape of this sample
};

}  // namespace tenon::components
