// Which tensor goes where: dataset fields to the model's inputs, outputs and fields to losses and metrics.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/plugins/model.h"
#include "framework/plugins/sample_slot.h"

namespace tenon::pipeline {

// One batch on its way: the fields of the dataset and, after forward, the outputs of the model.
struct Flow {
  std::vector<at::Tensor> fields;
  std::vector<at::Tensor> outputs;
};

// Where one input comes from.
struct Source {
  enum class Kind { field, output } kind;
  size_t index;
  std::string name;  // "data.label", for messages
  const at::Tensor& take(const Flow& flow) const {
    return kind == Kind::field ? flow.fields[index] : flow.outputs[index];
  }
};

// The sources of one component's inputs, in the order of its ports.
class Wiring {
 public:
  // `shapes_vary`: from batch to batch, in more than the number of samples.
  Wiring(std::vector<Source> sources, std::vector<plugins::Port> ports, std::string owner, bool shapes_vary)
      : sources_(std::move(sources)), ports_(std::move(ports)), owner_(std::move(owner)), shapes_vary_(shapes_vary) {}

  // The inputs of this batch. The first call checks dtypes and shapes of the real tensors against the ports, and so
  // does every call where shapes vary. Throws Error(plugin) naming owner, port, found and expected.
  std::vector<at::Tensor> gather(const Flow& flow);

  // What the inputs are, for a message: "logits = model.logits: float32 [64, 4], target = data.label: int64 [64], 0 to
  // 5". Reads the elements of integers.
  std::string describe(const Flow& flow) const;

  const std::vector<Source>& sources() const { return sources_; }

 private:
  void check(const std::vector<at::Tensor>& inputs) const;

  std::vector<Source> sources_;
  std::vector<plugins::Port> ports_;
  std::string owner_;  // for messages
  bool shapes_vary_;
  bool checked_ = false;
};

// Connects the model's inputs to the fields of a dataset, as the batch transforms leave them, and a loss or metric to
// outputs and fields. What the run file names is taken; otherwise a source of the port's own name; otherwise the only
// source that fits, looked for among the model's outputs first. Dtypes and shapes are checked as far as they are
// declared. Throws Error(configuration) naming the place, the port and every candidate with the reason why it does not
// fit.
Wiring connect_model(const plugins::Model& model, const config::ComponentPlan& plan, const std::string& data_name,
                     const std::vector<plugins::SampleField>& fields);
Wiring connect(const std::vector<plugins::Port>& inputs, const std::string& owner, const config::ComponentPlan& plan,
               const plugins::Model& model, const std::vector<plugins::SampleField>& fields);

}  // namespace tenon::pipeline
