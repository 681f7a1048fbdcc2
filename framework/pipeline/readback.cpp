#include "framework/pipeline/readback.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <utility>

namespace tenon::pipeline {

// An operator call for each would be a good part of a small model's step.
double read_scalar(const at::Tensor& tensor) {
  if (tensor.is_cpu()) {
    switch (tensor.scalar_type()) {
      case at::kFloat: return *tensor.const_data_ptr<float>();
      case at::kDouble: return *tensor.const_data_ptr<double>();
      case at::kLong: return static_cast<double>(*tensor.const_data_ptr<int64_t>());
      default: break;
    }
  }
  return tensor.item<double>();
}

void Readback::post(const std::vector<at::Tensor>& scalars, Reader reader) {
  Pending pending{{}, {}, nullptr, std::move(reader)};
  if (device_.is_cpu()) {
    pending.values.reserve(scalars.size());
    for (const at::Tensor& scalar : scalars) pending.values.push_back(read_scalar(scalar));
  } else {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> values;
    for (const at::Tensor& scalar : scalars) values.push_back(scalar.detach().reshape({}).to(device_, at::kDouble));
    pending.copy =
        at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions().dtype(at::kDouble).pinned_memory(true));
    if (!values.empty()) pending.copy.copy_(at::stack(values), /*non_blocking=*/true);
    pending.arrival = std::make_unique<c10::Event>(device_.type());
    pending.arrival->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  pending_.push_back(std::move(pending));
}

bool Readback::has_come(size_t index) const {
  if (pending_.size() - index <= lag_) return false;
  return !pending_[index].arrival || pending_[index].arrival->query();
}

void Readback::read_front() {
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  if (pending.copy.defined()) {
    const double* values = pending.copy.const_data_ptr<double>();
    pending.values.assign(values, values + pending.copy.numel());
  }
  pending.reader(pending.values);
}

void Readback::settle() {
  while (!pending_.empty() && has_come(0)) read_front();
}

void Readback::drain() {
  while (!pending_.empty()) {
    if (!has_come(0)) {
      ++waits_;
      if (pending_.front().arrival) pending_.front().arrival->synchronize();
    }
    read_front();
  }
}

}  // namespace tenon::pipeline
