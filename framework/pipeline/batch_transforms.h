// What is done to whole batches once they are on the device: [[data.batch_transform]] of the run file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/run_plan.h"
#include "framework/plugins/sample_slot.h"

namespace tenon::pipeline {

class BatchTransform {
 public:
  virtual ~BatchTransform() = default;
  // Throws Error(data) for values that apply() cannot take. `fields`: the dataset's, on the CPU, where looking costs no
  // wait for the device.
  virtual void check(const std::vector<at::Tensor>& fields) const { (void)fields; }
  // Changes a batch's tensors, one for each field, and adds those of new fields. `seed` is the batch's own.
  virtual void apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const = 0;
};

// In the order of the run file. The definitions are torchvision's (transforms.v2 Normalize, MixUp and CutMix).
class BatchTransforms {
 public:
  // Throws Error(configuration) where a field lacks, or is not of the dtype and shape that a transform takes.
  BatchTransforms(const std::vector<config::BatchTransformPlan>& plans, std::vector<plugins::SampleField> fields,
                  const c10::Device& device = c10::kCPU);

  // What comes out: the dataset's fields, changed, and after them the new ones.
  const std::vector<plugins::SampleField>& fields() const { return fields_; }

  void check(const std::vector<at::Tensor>& fields) const;
  void apply(std::vector<at::Tensor>& fields, bool training, uint64_t seed) const;

 private:
  std::vector<plugins::SampleField> fields_;
  std::vector<std::unique_ptr<BatchTransform>> transforms_;
};

}  // namespace tenon::pipeline
