// Class indices as targets of a loss: class weights and ignored targets.
#pragma once

#include <algorithm>
#include <optional>

#include "plugins/losses/mean_loss.h"

namespace tenon::losses {

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
