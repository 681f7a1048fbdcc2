// What the samples of a dataset hold in one field: their shapes, the range of their values, and their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "framework/components/kinds/sample_slot.h"

namespace tenon::data {

// The samples that have something in common. Keeps the first ones.
struct SampleList {
  static constexpr size_t kMost = 3;
  int64_t count = 0;
  std::vector<int64_t> first = {};

  void add(int64_t sample) {
    if (++count <= static_cast<int64_t>(kMost)) first.push_back(sample);
  }
};

class FieldSummary {
 public:
  // `classes`: of a field with class numbers; 0: none. `ignored`: a number that is none of them and stands for no
  // class.
  FieldSummary(components::SampleField field, int64_t classes, std::optional<int64_t> ignored = {});

  // `values`: of one sample, C-contiguous. `shape`: without the batch dimension.
  void add(int64_t sample, std::span<const int64_t> shape, const std::byte* values);

  const components::SampleField& field() const { return field_; }
  // Of all samples, by dimension. Empty before the first sample.
  const std::vector<int64_t>& smallest_shape() const { return smallest_shape_; }
  const std::vector<int64_t>& largest_shape() const { return largest_shape_; }
  // Of the finite values. The smallest is larger than the largest if there is none.
  double smallest() const { return smallest_; }
  double largest() const { return largest_; }
  // The samples with a value that is NaN or infinite.
  const SampleList& non_finite() const { return non_finite_; }
  // For each class, the number of samples in which it occurs. Empty if the field has no classes.
  const std::vector<int64_t>& class_samples() const { return class_samples_; }
  // The samples with a number that is none of the classes.
  const SampleList& without_class() const { return without_class_; }

 private:
  template <class Read>
  void add_values(int64_t sample, int64_t count, const Read& read);

  components::SampleField field_;
  std::vector<int64_t> smallest_shape_, largest_shape_;
  double smallest_ = std::numeric_limits<double>::infinity();
  double largest_ = -std::numeric_limits<double>::infinity();
  SampleList non_finite_, without_class_;
  std::vector<int64_t> class_samples_;
  std::optional<int64_t> ignored_;
  std::vector<int64_t> last_sample_;  // for each class, the last sample in which it occurs; -1: none
};

}  // namespace tenon::data
