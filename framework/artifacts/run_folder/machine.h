// The machine of a run.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::artifacts {

// If the system does not report a value, text is empty and a number is 0.
struct Machine {
  std::string hostname;
  std::string cpu;       // "AMD EPYC 7763 64-Core Processor"
  int64_t cores;         // number of logical cores that are online
  int64_t memory_bytes;  // physical memory
  std::string kernel;    // "Linux 6.1.0-18-amd64 x86_64"
  std::string os;        // "Debian GNU/Linux 12 (bookworm)"
};
Machine read_machine();

// Returns the peak memory of this process so far, in bytes. 0 if the system does not report it.
int64_t read_peak_memory();

}  // namespace tenon::artifacts
