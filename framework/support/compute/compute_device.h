// The device of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tenon::support {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;

  // From now on the work that this thread and its backward passes submit to the current stream is recorded instead of
  // run. Memory that tensors get meanwhile stays theirs as long as the graph exists. `before`: a graph that is always
  // replayed before this one, so that both can use the same memory for intermediate results; null: none. Throws
  // c10::Error, also for the default stream, which cannot be recorded.
  virtual void begin(DeviceGraph* before) = 0;

  // Ends the recording. Throws c10::Error if some of the work cannot be recorded, such as a wait for the device.
  virtual void end() = 0;

  // Ends the recording after an exception. The graph cannot be used.
  virtual void cancel() noexcept = 0;

  // Submits the recorded work to the current stream: the same operators on the same memory, with new random numbers.
  // REQUIRES: end() has returned.
  virtual void replay() = 0;
};

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
