// Transforms of whole batches on the device: [[data.batch_transform]] of the run file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/sample_slot.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

class BatchTransform {
 public:
  virtual ~BatchTransform() = default;
  // Throws Error(data) for values that apply() does not accept. `fields`: the dataset's fields on the CPU, so reading
  // them does not synchronise with the device.
  virtual void check(const std::vector<at::Tensor>& fields) const { (void)fields; }
  // Changes a batch's tensors, one for each field, and appends the tensors of new fields. `seed`: the batch's seed.
  virtual void apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const = 0;
};

// Applied in the order of the run file. The definitions are torchvision's (transforms.v2 Normalize, MixUp and CutMix).
class BatchTransforms {
 public:
  // Throws Error(configuration) if a field is missing or has a dtype or shape that a transform does not accept.
  BatchTransforms(const std::vector<config::BatchTransformPlan>& plans, std::vector<components::SampleField> fields,
                  const c10::Device& device = c10::kCPU);

  // The fields after all transforms: the dataset's fields, changed, followed by the new ones.
  const std::vector<components::SampleField>& fields() const { return fields_; }

  void check(const std::vector<at::Tensor>& fields) const;
  void apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const;

 private:
  std::vector<components::SampleField> fields_;
  std::vector<std::unique_ptr<BatchTransform>> transforms_;
};

}  // namespace tenon::pipeline
