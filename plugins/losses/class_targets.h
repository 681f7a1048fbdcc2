// Classes as targets of a loss: how much each counts, which are ignored, and what to say of one that is no class.
#pragma once

#include <algorithm>
#include <optional>

#include "plugins/class_range.h"
#include "plugins/losses/mean_loss.h"

namespace tenon::losses {

class ClassTargets final {
 public:
  static Param ignore_index_param() {
    return param("ignore_index", -100).doc("target that counts neither in the loss nor in its weight");
  }
  static Param class_weights_param() {
    return param("class_weights", std::vector<double>{})
        .range("[0, inf)")
        .doc("how much a target of each class counts, a number per class; empty: all alike");
  }

  ClassTargets(int64_t ignore_index, std::vector<double> weights)
      : ignore_index_(ignore_index), weights_(std::move(weights)) {}
  explicit ClassTargets(const Params& params)
      : ClassTargets(params.integer("ignore_index"), params.numbers("class_weights")) {}

  int64_t ignore_index() const { return ignore_index_; }
  Tensor are_ignored(const Tensor& target) const { return eq(target, ignore_index_); }
  // Such that it can be looked up: class 0 where it is ignored.
  Tensor without_ignored(const Tensor& target) const { return masked_fill(target, are_ignored(target), 0); }

  // [C], or empty where all classes count alike. logits: [N, C, ...].
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

  // The weight of each target, in its shape: 0 where it is ignored.
  Tensor target_weights(const Tensor& target, const Tensor& class_weights) const {
    const Tensor weights = index_select(class_weights, 0, flatten(without_ignored(target)));
    return masked_fill(reshape(weights, target.shape()), are_ignored(target), 0);
  }

  // A scalar: how many targets are not ignored, or the sum of their weights.
  Tensor total_weight(const Tensor& target, const Tensor& class_weights) const {
    return class_weights ? sum(target_weights(target, class_weights)) : sum(ne(target, ignore_index_));
  }

  // How many targets are not ignored, where they are in the host's memory: none where to count them would mean to wait.
  std::optional<int64_t> count(const Tensor& target) const {
    void* elements = nullptr;
    if (detail::host->tensor_data(target.handle(), &elements) != TENON_OK) return std::nullopt;
    const auto* const first = static_cast<const int64_t*>(elements);
    return target.numel() - std::count(first, first + target.numel(), ignore_index_);
  }

  // Calls `compute`. If an operator refuses its arguments because of a target that is no class, says which: looking
  // beforehand would cost every step a wait for the device.
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
