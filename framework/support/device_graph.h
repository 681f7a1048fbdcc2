// Recorded work of a device that can be submitted again with one call: CUDA graphs.
#pragma once

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

}  // namespace tenon::support
