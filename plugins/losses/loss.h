// Shared code of the losses: means, and targets that are classes or probabilities.
#pragma once

#include <algorithm>
#include <optional>

#include <tenon/plugin.hpp>

namespace tenon::losses {

// Half precision cannot represent the sum of a batch or its weight.
inline Tensor to_float(const Tensor& input) {
  const int32_t dtype = input.dtype();
  return dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16 ? to_dtype(input, TENON_FLOAT32) : input;
}

// total / weight. If the weight is 0, the value and its gradient are 0.
inline LossResult mean_over(const Tensor& total, const Tensor& weight) {
  const Tensor is_empty = eq(weight, 0);
  return {masked_fill(total, is_empty, 0) / (weight + is_empty), weight};
}

inline LossResult mean_over(const Tensor& total, int64_t weight) {
  return {total / static_cast<double>(weight > 0 ? weight : 1), static_cast<double>(weight)};
}

// [C] numbers with the device and dtype of `like`. Does not synchronise with the device.
inline Tensor make_like(const std::vector<double>& numbers, const Tensor& like) {
  const Frame& frame = like.checked_frame();
  return to_like(frame.make<double>(numbers, {static_cast<int64_t>(numbers.size())}), like, /*non_blocking=*/true);
}

// Targets that are 0, 1, or a probability in between.
constexpr uint64_t kBinaryTargets = TENON_ANY_FLOAT | TENON_DTYPE_BIT(TENON_INT64);

// ...S: the same further dimensions on both sides, so that nothing is broadcast unintentionally.
inline std::vector<Port> binary_ports(const char* target = "0 or 1, or a probability") {
  return {input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1"),
          input("target", "N,...S", kBinaryTargets, target)};
}

inline std::vector<Port> class_ports() {
  return {input("logits", "N,C,...S", TENON_ANY_FLOAT, "unnormalised log-probabilities of the classes"),
          input("target", "N,...S", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C), or ignore_index")};
}

// Checks targets on the CPU only, because on a device the check would synchronise in every step. NaN passes; it shows
// in the loss.
inline void require_binary(const Tensor& target) {
  if (target.numel() == 0 || detail::info_of(target.handle()).device_type != TENON_DEVICE_CPU) return;
  const Tensor numbers = to_dtype(detach(flatten(target)), TENON_FLOAT64);
  for (const double found : {amin(numbers, {0}).number(), amax(numbers, {0}).number()}) {
    if (found < 0 || found > 1) {
      throw DataError("a target is " + detail::number_text(found) + "; expected a number in [0, 1]");
    }
  }
}

// Class indices as targets of a loss: class weights and ignored targets.
class ClassTargets final {
 public:
  static Param ignore_index_param() {
    return param("ignore_index", -100)
        .range("[-1e9, 1e9]")
        .doc("target value that is ignored in the loss and in its weight");
  }
  static Param class_weights_param() {
    return param("class_weights", std::vector<double>{})
        .range("[0, inf)")
        .doc("weight of each class, one number per class; empty: equal weights");
  }

  ClassTargets(int64_t ignore_index, std::vector<double> weights)
      : ignore_index_(ignore_index), weights_(std::move(weights)) {}
  explicit ClassTargets(const Params& params)
      : ClassTargets(params.integer("ignore_index"), params.numbers("class_weights")) {}

  int64_t ignore_index() const { return ignore_index_; }
  bool has_zero_weight() const { return std::count(weights_.begin(), weights_.end(), 0.0) > 0; }
  // Class weights are copied from host memory in each step.
  bool is_capturable() const { return weights_.empty(); }
  // The targets are classes below the extent of a dimension, such as "C" of the logits.
  std::vector<IndexInput> index_inputs(const std::string& dimension) const {
    return {index_below(dimension, "target").ignoring(ignore_index_)};
  }
  Tensor are_ignored(const Tensor& target) const { return eq(target, ignore_index_); }
  // The target with class 0 in place of ignored targets, so that it can be used as an index.
  Tensor without_ignored(const Tensor& target) const { return masked_fill(target, are_ignored(target), 0); }

  // [C], or empty if all weights are equal. logits: [N, C, ...].
  Tensor class_weights(const Tensor& logits) const {
    if (weights_.empty()) return {};
    const auto classes = static_cast<size_t>(logits.shape()[1]);
    if (weights_.size() != classes) {
      throw Error(TENON_INVALID_ARGUMENT, "class_weights has " + std::to_string(weights_.size()) +
                                              " numbers; expected one for each of the " + std::to_string(classes) +
                                              " classes of the logits");
    }
    return make_like(weights_, logits);
  }

  // The weight of each target, in the shape of target. It is 0 for ignored targets.
  Tensor target_weights(const Tensor& target, const Tensor& class_weights) const {
    const Tensor weights = index_select(class_weights, 0, flatten(without_ignored(target)));
    return masked_fill(reshape(weights, target.shape()), are_ignored(target), 0);
  }

  // A scalar: the number of targets that are not ignored, or the sum of their weights.
  Tensor total_weight(const Tensor& target, const Tensor& class_weights) const {
    return class_weights ? sum(target_weights(target, class_weights)) : sum(ne(target, ignore_index_));
  }

  // The number of targets that are not ignored, if target is in host memory. Otherwise empty, because counting would
  // synchronise with the device.
  std::optional<int64_t> count(const Tensor& target) const {
    void* elements = nullptr;
    if (detail::host->tensor_data(target.handle(), &elements) != TENON_OK) return std::nullopt;
    const auto* const first = static_cast<const int64_t*>(elements);
    return target.numel() - std::count(first, first + target.numel(), ignore_index_);
  }

 private:
  int64_t ignore_index_;
  std::vector<double> weights_;
};

}  // namespace tenon::losses
