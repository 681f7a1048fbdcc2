#include "framework/pipeline/device/readback.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

namespace tenon::pipeline {

// Reads directly: an operator call per value would take a noticeable part of a small model's step.
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

namespace {

void read_elements(const at::Tensor& tensor, std::vector<double>& values) {
  if (tensor.numel() == 1) {
    values.push_back(read_scalar(tensor));
    return;
  }
  const at::Tensor elements = tensor.detach().to(at::kDouble).contiguous();
  const double* first = elements.const_data_ptr<double>();
  values.insert(values.end(), first, first + elements.numel());
}

}  // namespace

Readback::~Readback() {
  for (Pending& pending : pending_)
    if (pending.pinned.defined()) pinned_.give(std::move(pending.pinned));
}

void Readback::post(const std::vector<at::Tensor>& tensors, Reader reader) {
  Pending pending{{}, {}, 0, nullptr, std::move(reader)};
  if (device_.is_cpu()) {
    pending.values.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) read_elements(tensor, pending.values);
    pending_.push_back(std::move(pending));
    return;
  }
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values;
  for (const at::Tensor& tensor : tensors) values.push_back(tensor.detach().reshape({-1}).to(device_, at::kDouble));
  const at::Tensor together = at::cat(values);
  pending.count = together.numel();
  pending.pinned = pinned_.take(static_cast<int64_t>(together.nbytes()));
  // If the device fails in the copy, the memory must stay allocated, see PinnedMemory.
  Pending& posted = pending_.emplace_back(std::move(pending));
  view_as(posted.pinned, {posted.count}, at::kDouble).copy_(together, /*non_blocking=*/true);
  posted.arrival = std::make_unique<c10::Event>(device_.type());
  posted.arrival->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

bool Readback::has_come(size_t index) const {
  if (pending_.size() - index <= lag_) return false;
  return !pending_[index].arrival || pending_[index].arrival->query();
}

void Readback::wait_for(c10::Event& arrival) {
  if (wait_until_)
    wait_until_([&arrival] { return arrival.query(); });
  else
    arrival.synchronize();
}

void Readback::read_front() {
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  if (pending.pinned.defined()) {
    const auto* const values = static_cast<const double*>(pending.pinned.const_data_ptr());
    pending.values.assign(values, values + pending.count);
    pinned_.give(std::move(pending.pinned));
  }
  pending.reader(pending.values);
}

void Readback::deliver_arrived() {
  while (!pending_.empty() && has_come(0)) read_front();
}

void Readback::drain() {
  while (!pending_.empty()) {
    if (!has_come(0)) {
      ++waits_;
      if (pending_.front().arrival) wait_for(*pending_.front().arrival);
    }
    read_front();
  }
}

}  // namespace tenon::pipeline
