// The stand-in's settings, from the environment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::standin {

struct Settings {
  int devices = 1;                         // TENON_STANDIN_DEVICES, at most 8
  size_t memory = size_t{16} << 30;        // TENON_STANDIN_MEMORY_MIB: bytes of each device
  bool recorded_allocations_fail = false;  // TENON_STANDIN_RECORDED_ALLOCATIONS_FAIL
  int capability_major = 9;                // TENON_STANDIN_CAPABILITY, such as 8.0
  int capability_minor = 0;
  int64_t fail_at = 0;   // TENON_STANDIN_FAIL_AT: the number of the work that fails, from 1; 0: none
  int fail_device = -1;  // TENON_STANDIN_FAIL_DEVICE: only work of this device counts; -1: that of all
  int error = 0;         // TENON_STANDIN_ERROR: the CUDA error of this failure; by default an assertion
  bool logs = false;     // TENON_STANDIN_LOG: prints each call
};

const Settings& settings();

}  // namespace tenon::standin
