// Replaces NCCL in tests without a device: a backend for one rank. Its collectives return their inputs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace tenon::distributed {

class OneRankBackend final : public c10d::Backend {
 public:
  // Outlives the backend.
  struct Record {
    std::atomic<c10d::ErrorType> error{c10d::ErrorType::SUCCESS};  // of getError()
    std::atomic<int> shutdowns{0};
  };

  OneRankBackend(int rank, int size, std::shared_ptr<Record> record = std::make_shared<Record>())
      : Backend(rank, size), record_(std::move(record)) {}

  const std::string getBackendName() const override { return "nccl"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& = {}) override {
    return completed(tensors);
  }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& = {}) override {
    return completed(tensors);
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& gathered,
                                           std::vector<at::Tensor>& tensors,
                                           const c10d::AllgatherOptions& = {}) override {
    for (size_t i = 0; i < tensors.size(); ++i) gathered[i].at(0).copy_(tensors[i]);
    return completed(gathered.at(0));
  }

  c10d::ErrorType getError() override { return record_->error; }
  void shutdown() override { ++record_->shutdowns; }

 private:
  static c10::intrusive_ptr<c10d::Work> completed(const std::vector<at::Tensor>& tensors) {
    std::vector<c10::Device> devices;
    if (!tensors.at(0).is_cpu()) devices.push_back(tensors[0].device());
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(), devices);
    future->markCompleted(c10::IValue(tensors));
    return c10d::Work::create_from_future(future);
  }

  std::shared_ptr<Record> record_;
};

}  // namespace tenon::distributed
