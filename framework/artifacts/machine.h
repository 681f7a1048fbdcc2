// What the run runs on.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::artifacts {

// Text that the system does not tell is empty, a number 0.
struct Machine {
  std::string hostname;
  std::string cpu;       // "AMD EPYC 7763 64-Core Processor"
  int64_t cores;         // logical ones that are online
  int64_t memory_bytes;  // physical
  std::string kernel;    // "Linux 6.1.0-18-amd64 x86_64"
  std::string os;        // "Debian GNU/Linux 12 (bookworm)"
};
Machine read_machine();

// The most memory that this process has had so far, in bytes; 0 where the system does not tell.
int64_t read_peak_memory();

}  // namespace tenon::artifacts
