#include "tests/cuda_standin/runtime/settings.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tenon::standin {

namespace {

int64_t read(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

}  // namespace

const Settings& settings() {
  static const Settings read_once = [] {
    Settings s;
    s.devices = static_cast<int>(std::clamp<int64_t>(read("TENON_STANDIN_DEVICES", s.devices), 0, 8));
    s.memory = static_cast<size_t>(read("TENON_STANDIN_MEMORY_MIB", static_cast<int64_t>(s.memory >> 20))) << 20;
    s.recorded_allocations_fail = read("TENON_STANDIN_RECORDED_ALLOCATIONS_FAIL", 0) != 0;
    if (const char* const text = std::getenv("TENON_STANDIN_CAPABILITY"))
      std::sscanf(text, "%d.%d", &s.capability_major, &s.capability_minor);
    s.fail_at = read("TENON_STANDIN_FAIL_AT", 0);
    s.fail_device = static_cast<int>(read("TENON_STANDIN_FAIL_DEVICE", s.fail_device));
    s.error = static_cast<int>(read("TENON_STANDIN_ERROR", cudaErrorAssert));
    s.logs = std::getenv("TENON_STANDIN_LOG") != nullptr;
    return s;
  }();
  return read_once;
}

}  // namespace tenon::standin
