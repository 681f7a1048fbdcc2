// The age of this process.
#pragma once

#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

inline double boot_time_s() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The start time of this process on the clock of boot_time_s(): field 22 of proc(5)'s stat, in clock ticks. Without
// /proc, the time of the first call.
inline double read_process_start_s() {
  std::ifstream stream("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const size_t name_end = text.rfind(')');  // the name before it may contain any characters
  double ticks = 0;
  if (name_end != std::string::npos) {
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    if (fields >> ticks) return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return boot_time_s();
}

inline double process_age_s() {
  static const double start_s = read_process_start_s();
  return boot_time_s() - start_s;
}
