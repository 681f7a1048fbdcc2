// Class indices as targets of a loss: class weights, ignored targets, and the error message for an invalid class.
#pragma once

#include <algorithm>
#include <optional>

#include "plugins/class_range.h"
#include "plugins/losses/mean_loss.h"

namespace tenon::losses {

class ClassTargets final {
 public:
  static Param ignore_index_param() {
    return param("ignore_index", -100).doc("target value that is ignored in the loss and in its weight");
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

  // Calls `compute`. If an operator fails because of an invalid class, the error names that class. Checking in advance
  // would synchronise with the device in every step.
  template <class Compute>
  LossResult explain_refusal(const Tensor& target, int64_t classes, Compute&& compute) const {
    try {
      return compute();
    } catch (const HostError&) {
      if (target.numel() > 0) refuse_outside(without_ignored(target), classes);
      throw;
    }
  }

 private:
  void refuse_outside(const Tensor& target, int64_t classes) const {
    const auto least = static_cast<int64_t>(amin(flatten(target), {0}).number());
    const auto greatest = static_cast<int64_t>(amax(flatten(target), {0}).number());
    if (least < 0) throw plugins::outside_classes(least, classes, ignore_index_);
    if (greatest >= classes) throw plugins::outside_classes(greatest, classes, ignore_index_);
  }

  int64_t ignore_index_;
  std::vector<double> weights_;
};

}  // namespace tenon::losses
