#include "framework/data/field_summary.h"

#include <tenon/abi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "framework/formats/decode_float16.h"

namespace tenon::data {

namespace {

template <class T>
T read_element(const std::byte* values, int64_t index) {
  T value;
  std::memcpy(&value, values + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
auto read_as(const std::byte* values) {
  return [values](int64_t i) { return static_cast<double>(read_element<T>(values, i)); };
}

auto read_float16(const std::byte* values, int exponent_bits, int fraction_bits) {
  return [=](int64_t i) {
    return support::decode_float16(read_element<uint16_t>(values, i), exponent_bits, fraction_bits);
  };
}

}  // namespace

FieldSummary::FieldSummary(components::SampleField field, int64_t classes, std::optional<int64_t> ignored)
    : field_(std::move(field)),
      class_samples_(static_cast<size_t>(classes), 0),
      ignored_(ignored),
      last_sample_(static_cast<size_t>(classes), -1) {}

void FieldSummary::add(int64_t sample, std::span<const int64_t> shape, const std::byte* values) {
  if (smallest_shape_.size() != shape.size()) {
    smallest_shape_.assign(shape.begin(), shape.end());
    largest_shape_ = smallest_shape_;
  }
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    smallest_shape_[i] = std::min(smallest_shape_[i], shape[i]);
    largest_shape_[i] = std::max(largest_shape_[i], shape[i]);
    count *= shape[i];
  }
  switch (field_.dtype) {
    case TENON_FLOAT64: return add_values(sample, count, read_as<double>(values));
    case TENON_FLOAT32: return add_values(sample, count, read_as<float>(values));
    case TENON_FLOAT16: return add_values(sample, count, read_float16(values, 5, 10));
    case TENON_BFLOAT16: return add_values(sample, count, read_float16(values, 8, 7));
    case TENON_INT64: return add_values(sample, count, read_as<int64_t>(values));
    case TENON_INT32: return add_values(sample, count, read_as<int32_t>(values));
    case TENON_INT16: return add_values(sample, count, read_as<int16_t>(values));
    case TENON_INT8: return add_values(sample, count, read_as<int8_t>(values));
    default: return add_values(sample, count, read_as<uint8_t>(values));
  }
}

template <class Read>
void FieldSummary::add_values(int64_t sample, int64_t count, const Read& read) {
  bool is_finite = true, has_classes = true;
  for (int64_t i = 0; i < count; ++i) {
    const double value = read(i);
    if (!std::isfinite(value)) {
      is_finite = false;
      continue;
    }
    smallest_ = std::min(smallest_, value);
    largest_ = std::max(largest_, value);
    if (class_samples_.empty()) continue;
    if (!(value >= 0 && value < static_cast<double>(class_samples_.size()))) {
      has_classes &= ignored_ && value == static_cast<double>(*ignored_);
    } else if (const auto number = static_cast<size_t>(value); last_sample_[number] != sample) {
      last_sample_[number] = sample;
      ++class_samples_[number];
    }
  }
  if (!is_finite) non_finite_.add(sample);
  if (!has_classes) without_class_.add(sample);
}

}  // namespace tenon::data
