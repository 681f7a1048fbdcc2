// Counts synchronisations with a device.
#pragma once

#include <cstdint>
#include <memory>

namespace tenon::pipeline {

// While the object exists, LibTorch's warnings about synchronisations (DeviceLibrary::warn_of_waits) of this thread and
// its backward passes are counted instead of printed.
class CountWaits {
 public:
  CountWaits();
  ~CountWaits();
  CountWaits(const CountWaits&) = delete;
  CountWaits& operator=(const CountWaits&) = delete;

  static int64_t total();  // of this process so far

 private:
  class Handler;
  std::unique_ptr<Handler> handler_;
};

}  // namespace tenon::pipeline
