// The device of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "framework/support/device_graph.h"

namespace tenon::support {

struct ComputeDevice {
  enum class Kind { cpu, cuda } kind = Kind::cpu;

  // For a CUDA device:
  int index = 0;
  std::string name = {};  // "NVIDIA H100 80GB HBM3"
  int capability_major = 0;
  int capability_minor = 0;
  int64_t memory_bytes = 0;
  std::string driver = {};   // "13.0", the newest CUDA version that the driver supports
  std::string runtime = {};  // "13.0", the CUDA version that LibTorch was built with
  std::string cudnn = {};    // "9.19.0"
  std::string nccl = {};     // "2.28.9"
  std::function<std::unique_ptr<DeviceGraph>()> make_graph = {};

  bool is_cuda() const { return kind == Kind::cuda; }
};

// "cpu", "cuda:0".
inline std::string to_string(const ComputeDevice& device) {
  return device.is_cuda() ? "cuda:" + std::to_string(device.index) : "cpu";
}

}  // namespace tenon::support
