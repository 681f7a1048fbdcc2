#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/validation/session/fake_run.h"

namespace tenon::validation {

namespace {

class WeightAndBias final : public FakeTensors {
 public:
  explicit WeightAndBias(uint64_t seed) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    for (const auto& shape : std::vector<std::vector<int64_t>>{{3, 2}, {3}}) {
      values_.push_back(at::randn(shape, generator));
      gradients_.push_back(at::randn(shape, generator));
    }
  }

  size_t size() const override { return values_.size(); }
  const std::string& name(size_t index) const override {
    static const std::string names[] = {"layer.weight", "layer.bias"};
    return names[index];
  }
  tenon_tensor* value(size_t index) const override { return components::to_handle(values_[index]); }
  tenon_tensor* gradient(size_t index) const override {
    return present_ ? components::to_handle(gradients_[index]) : nullptr;
  }
  void have_gradients(bool present) override { present_ = present; }

 private:
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> gradients_;
  bool present_ = false;
};

}  // namespace

std::unique_ptr<FakeTensors> FakeTensors::make(uint64_t seed) { return std::make_unique<WeightAndBias>(seed); }

}  // namespace tenon::validation
