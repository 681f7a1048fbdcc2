// Connects tensors: dataset fields to the model's inputs, outputs and fields to losses and metrics.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/data/sample_source.h"

#include "framework/components/kinds/model.h"
#include "framework/components/kinds/sample_slot.h"

namespace tenon::pipeline {

struct BoundDataset;

// The tensors of one batch: the dataset's fields and, after forward, the model's outputs.
struct BatchTensors {
  std::vector<at::Tensor> fields;
  std::vector<at::Tensor> outputs;
  // The dataset's fields in host memory, before the batch transforms, while the batch is valid. Empty if the fields do
  // not come from a dataset.
  std::vector<at::Tensor> host_fields = {};
  // The extents of padded fields in each sample, int64 [N, K] in host memory for the K extents that differ; undefined
  // for other fields. Empty if the fields do not come from a dataset.
  std::vector<at::Tensor> lengths = {};
  // What the model's results are computed of, where they are needed.
  components::ComputedResults results = {};
  const BoundDataset* data = nullptr;  // null without host_fields
  const data::Batch* batch = nullptr;
};

// The fields of a batch as the dataset returned them. They refer to the memory of the batch.
BatchTensors view_batch(const data::Batch& batch, const std::vector<components::SampleField>& fields);

// The source of one input.
struct Source {
  enum class Kind { field, lengths, output, result, result_lengths } kind;
  size_t index;
  std::string name;                          // for messages, for example "data.label"
  std::optional<at::ScalarType> dtype = {};  // a field is converted to it
  // Of lengths: the dimensions of the field that differ between samples.
  std::vector<int64_t> varying = {};

  bool is_of_results() const { return kind == Kind::result || kind == Kind::result_lengths; }

  // The lengths of a field are int64 [N], or [N, K] if K dimensions differ between samples, on the field's device.
  // Tensors that do not come from a dataset have no padding.
  at::Tensor take(const BatchTensors& batch_tensors) const;
};

// The shape of each sample of a padded field without its padding, int64 [N, D] in host memory. Undefined for other
// fields.
at::Tensor find_sample_shapes(const BatchTensors& batch_tensors, size_t index, const components::SampleField& field);

// The same of a result of the model that is a list.
at::Tensor find_result_shapes(const BatchTensors& batch_tensors, size_t index);

// The results without gradients. REQUIRES: the model has some.
components::ComputedResults compute_results(const components::Model& model, const std::vector<at::Tensor>& outputs,
                                            const components::StepContext& context);

// The name of a result next to the dataset's fields: "predicted boxes" if there is a field `boxes`.
std::string name_result(const components::ModelResult& result, const std::vector<components::SampleField>& fields);

// Row `row` of a batch [N, ...], without padding if `shapes` is defined.
at::Tensor take_sample(const at::Tensor& batch, const at::Tensor& shapes, int64_t row);

// The sources of one component's inputs, in the order of its ports.
class Wiring {
 public:
  // `shapes_vary`: other dimensions than the number of samples vary between batches.
  Wiring(std::vector<Source> sources, std::vector<components::Port> ports, std::string owner, bool shapes_vary)
      : sources_(std::move(sources)), ports_(std::move(ports)), owner_(std::move(owner)), shapes_vary_(shapes_vary) {}

  // Returns the inputs for this batch. Checks dtypes and shapes of the tensors against the ports in the first call, and
  // in every call if shapes vary. Throws Error(plugin) naming owner, port, found and expected. Checks in every call
  // that fields that are used as indices are in range, and that lists of integers which were padded are not compared
  // with outputs as numbers. Throws Error(data) naming the sample or the field.
  std::vector<at::Tensor> gather(const BatchTensors& batch_tensors);

  // Describes the inputs for a message: "logits = model.logits: float32 [64, 4], target = data.label: int64 [64], 0 to
  // 5". Reads the elements of integer fields, but nothing from a device.
  std::string describe(const BatchTensors& batch_tensors) const;

  const std::vector<Source>& sources() const { return sources_; }
  // Whether an input is a result of the model, or its lengths.
  bool needs_results() const;

  // The sources by input, as in a plan: {{"logits", "model.logits"}}.
  std::map<std::string, std::string> source_names() const;

 private:
  void check(const std::vector<at::Tensor>& inputs) const;
  void refuse_padding(const BatchTensors& batch_tensors) const;
  void check_indices(const BatchTensors& batch_tensors, const std::vector<at::Tensor>& inputs) const;

  std::vector<Source> sources_;
  std::vector<components::Port> ports_;
  std::string owner_;  // for messages
  bool shapes_vary_;
  bool checked_ = false;
};

// connect_model() connects the model's inputs to the fields of a dataset after the batch transforms. connect() connects
// a loss or metric to outputs and fields. The lengths of a field that is padded, `data.FIELD.lengths`, are used if the
// run file or a usual source names them; likewise for a metric a result of the model, `result.NAME`, and the numbers of
// rows of a list, `result.NAME.lengths`. A source named in the run file is used first, then a source with the name of
// the port, then the only source that fits; the model's outputs are searched first. Dtypes and shapes are checked as
// far as they are declared. A field that the port does not take as it is, is converted if its values keep their
// meaning: floating-point numbers to float32, integers and bools to int64, and if the run file names the source, to
// float32. Bytes of images are not converted. Throws Error(configuration) naming the location, the port and every
// candidate with the reason why it does not fit.
Wiring connect_model(const components::Model& model, const config::ComponentPlan& plan, const std::string& data_name,
                     const std::vector<components::SampleField>& fields);
// `has_results`: whether the model's results are sources.
Wiring connect(const std::vector<components::Port>& inputs, const std::string& owner, const config::ComponentPlan& plan,
               const components::Model& model, const std::vector<components::SampleField>& fields,
               bool has_results = false);

}  // namespace tenon::pipeline
