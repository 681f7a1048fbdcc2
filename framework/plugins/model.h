// Models, losses and metrics of plugins: what runs over tensors on the training thread.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/loss.h>
#include <tenon/metric.h>
#include <tenon/model.h>

#include "framework/plugins/frame.h"
#include "framework/plugins/instance.h"
#include "framework/plugins/ports.h"

namespace tenon::plugins {

// A parameter or buffer of a model.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  bool trainable;
};

class Model {
 public:
  // Creates the model and reads its ports; build() makes its tensors.
  Model(const Component& component, const config::ComponentPlan& plan);

  // Allocates and initialises from LibTorch's default generator, so seed that first. Throws Error(plugin).
  void build();

  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::vector<Port>& outputs() const { return ports_.outputs; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in order of declaration

  // Inputs and outputs in the order of the ports. Throws Error(plugin), naming the step.
  std::vector<at::Tensor> forward(const RunPosition& position, const std::vector<at::Tensor>& inputs) const;

 private:
  struct Builder;
  void check_outputs(const RunPosition& position, const std::vector<at::Tensor>& inputs,
                     const std::vector<at::Tensor>& outputs) const;

  Instance<tenon_model> instance_;
  PortList ports_;
  std::vector<NamedTensor> tensors_;
  std::vector<tenon_tensor*> handles_;  // of tensors_
};

class Loss {
 public:
  // `loss` is a scalar, the mean over `weight` items.
  struct Result {
    at::Tensor loss;
    // One of the two: a scalar tensor where the count is known on the device alone, else undefined and a number.
    at::Tensor weight_tensor;
    double weight;
  };

  Loss(const Component& component, const config::LossPlan& plan);
  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::string& name() const { return name_; }
  double factor() const { return factor_; }  // in the sum of losses

  Result forward(const RunPosition& position, const std::vector<at::Tensor>& inputs) const;

 private:
  std::string name_;
  double factor_;
  Instance<tenon_loss> instance_;
  PortList ports_;
};

class Metric {
 public:
  struct Figure {
    std::string name;
    int32_t direction;  // 1: higher is better, -1: lower, 0: neither
  };

  Metric(const Component& component, const config::MetricPlan& plan);
  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::string& name() const { return name_; }
  const std::vector<Figure>& figures() const { return figures_; }

  void reset();
  void update(const RunPosition& position, const std::vector<at::Tensor>& inputs) const;
  std::vector<double> compute(const RunPosition& position) const;  // in the order of figures()

 private:
  struct State {
    at::Tensor tensor;
    double initial;
    uint32_t reduction;  // over ranks
  };
  void read_states();
  void read_figures();

  std::string name_;
  Instance<tenon_metric> instance_;
  PortList ports_;
  std::vector<Figure> figures_;
  std::vector<State> states_;
  std::vector<tenon_tensor*> handles_;  // of states_
};

}  // namespace tenon::plugins
