// A loss of a plugin.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/loss.h>

#include "framework/components/calls/ports.h"
#include "framework/components/kinds/instance.h"
#include "framework/components/tensors/frame.h"

namespace tenon::components {

class Loss {
 public:
  // `loss` is a scalar, the mean over `weight` items, or their sum.
  struct Result {
    at::Tensor loss;
    // A scalar tensor if the count is known only on the device; else undefined, and `weight` holds the number.
    at::Tensor weight_tensor;
    double weight;
    // Scalars, one for each of part_names(); undefined for a part that the loss did not return.
    std::vector<at::Tensor> parts;
    bool is_sum = false;  // the loss and the parts are sums, which count also if the weight is 0

    // Whether there is nothing to minimise. `items`: the weight.
    bool is_empty(double items) const { return !is_sum && items == 0; }
  };

  Loss(const Component& component, const config::LossPlan& plan);
  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::string& name() const { return name_; }
  double factor() const { return factor_; }  // the weight in the sum of losses
  const std::vector<std::string>& part_names() const { return part_names_; }

  // Whether its results are sums over items, see tenon/draft/loss_sums.h.
  bool returns_sums() const { return returns_sums_; }
  // What the sum over all results of a step is divided by, if they have this weight together.
  double divisor(double weight) const { return returns_sums_ ? std::max(weight, 1.0) : weight; }
  at::Tensor divisor(const at::Tensor& weight) const;

  // Whether a CUDA graph can replay forward and backward in training; false if the loss does not declare it.
  bool is_capturable() const { return is_capturable_; }

  // Throws Error(plugin) with the step, also for a result that is not as described above.
  Result forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const;

  // As forward(), but does not check the result. The loss is undefined if the plugin returned null.
  Result forward_unchecked(const StepContext& context, const std::vector<at::Tensor>& inputs) const;

 private:
  void read_part_names(const tenon_string* names, uint64_t count);

  std::string name_;
  double factor_;
  Instance<tenon_loss> instance_;
  PortList ports_;
  bool is_capturable_;
  bool returns_sums_;
  std::vector<std::string> part_names_;
};

}  // namespace tenon::components
