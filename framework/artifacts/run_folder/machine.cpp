#include "framework/artifacts/run_folder/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace tenon::artifacts {

namespace {

// Returns the rest of the first line that starts with `key`, after `separator`, with blanks and quotes stripped.
std::string find_value(const char* file, std::string_view key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find(separator);
    if (!line.starts_with(key) || end == std::string::npos) continue;
    constexpr const char* kAround = " \t\"'";
    const size_t first = line.find_first_not_of(kAround, end + 1);
    if (first == std::string::npos) return "";
    return line.substr(first, line.find_last_not_of(kAround) + 1 - first);
  }
  return "";
}

}  // namespace

Machine read_machine() {
  Machine machine{};
  utsname system{};
  if (::uname(&system) == 0) {
    machine.hostname = system.nodename;
    machine.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  machine.cpu = find_value("/proc/cpuinfo", "model name", ':');
  machine.cores = std::max<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 0);
  machine.memory_bytes = std::max<int64_t>(::sysconf(_SC_PHYS_PAGES), 0) * ::sysconf(_SC_PAGE_SIZE);
  machine.os = find_value("/etc/os-release", "PRETTY_NAME", '=');
  return machine;
}

int64_t read_peak_memory() {
  const std::string kibibytes = find_value("/proc/self/status", "VmHWM", ':');  // "123456 kB"
  return kibibytes.empty() ? 0 : std::strtoll(kibibytes.c_str(), nullptr, 10) * 1024;
}

}  // namespace tenon::artifacts
