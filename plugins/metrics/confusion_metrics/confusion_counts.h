// Counts of targets and predicted classes, from which all metrics of predicted classes are computed.
#pragma once

#include "plugins/class_range.h"
#include "plugins/metrics/predictions.h"

namespace tenon::metrics {

// Counts, indexed by target and prediction.
class Confusion final {
 public:
  Confusion(const int64_t* counts, int64_t classes) : counts_(counts), classes_(classes) {}

  int64_t classes() const { return classes_; }
  int64_t count(int64_t target, int64_t predicted) const { return counts_[target * classes_ + predicted]; }
  int64_t right(int64_t of) const { return count(of, of); }
  int64_t targets(int64_t of) const {
    int64_t sum = 0;
    for (int64_t other = 0; other < classes_; ++other) sum += count(of, other);
    return sum;
  }
  int64_t predictions(int64_t of) const {
    int64_t sum = 0;
    for (int64_t other = 0; other < classes_; ++other) sum += count(other, of);
    return sum;
  }
  int64_t all() const {
    int64_t sum = 0;
    for (int64_t of = 0; of < classes_; ++of) sum += targets(of);
    return sum;
  }

 private:
  const int64_t* counts_;
  int64_t classes_;
};

class ConfusionCounts {
 public:
  std::vector<Port> ports() const {
    return {input("logits", "N," + std::to_string(classes_) + ",...S", TENON_ANY_FLOAT, "scores of the classes"),
            input("target", "N,...S", kInt64, "class in [0, classes), or ignore_index")};
  }

  std::vector<State> states() const {
    return {{"confusion", TENON_INT64, {classes_, classes_}}, {"undefined", TENON_INT64}};
  }

  void update(const Frame& frame, const Inputs& inputs) const {
    static const Op kMaskedSelect("aten::masked_select");
    const Tensor target = inputs[1];
    const Tensor counted = ne(target, ignore_index_);
    // Clamped, because the product of another target could overflow to a valid cell.
    const Tensor cells = clamp(target, -1, classes_) * classes_ + argmax(inputs[0], 1);
    const Tensor counts = count_cells(frame, frame.call(kMaskedSelect, {cells, counted}));
    if (!counts) throw_outside(frame.call(kMaskedSelect, {target, counted}));
    frame.tensor(kConfusion) += reshape(counts, {classes_, classes_});
    frame.tensor(kUndefined) += count_undefined(inputs[0], 1, counted);
  }

 protected:
  static Param classes_param(const char* range) {
    return param("classes", 2).range(range).counts_classes().doc("number of classes; if left out, that of the data");
  }

  explicit ConfusionCounts(const Params& params)
      : classes_(params.integer("classes")), ignore_index_(params.integer("ignore_index")) {}

  int64_t classes() const { return classes_; }
  int64_t ignore_index() const { return ignore_index_; }

  // Whether a score was NaN. The metrics are then NaN.
  static bool is_undefined(const Frame& frame) { return frame.tensor(kUndefined).number() > 0; }
  Confusion read(const Frame& frame) const { return {frame.tensor(kConfusion).data<int64_t>(), classes_}; }

 private:
  enum : uint64_t { kConfusion, kUndefined };

  // A number that is too large for int64 as a double becomes the largest int64.
  static int64_t read_integer(const Tensor& scalar) {
    const double number = scalar.number();
    return number < 0x1p63 ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::max();
  }

  // Null if a target is outside of the classes.
  Tensor count_cells(const Frame& frame, const Tensor& cells) const {
    static const Op kBincount("aten::bincount");
    const int64_t cell_count = classes_ * classes_;
    try {
      const Tensor counts = frame.call(kBincount, {cells, {}, cell_count});
      return counts.numel() == cell_count ? counts : Tensor();
    } catch (const HostError&) {  // a cell is negative
      return {};
    }
  }

  [[noreturn]] void throw_outside(const Tensor& targets) const {
    const int64_t least = read_integer(amin(targets, {0}));
    throw components::outside_classes(least < 0 ? least : read_integer(amax(targets, {0})), classes_, ignore_index_);
  }

  int64_t classes_;
  int64_t ignore_index_;
};

}  // namespace tenon::metrics
