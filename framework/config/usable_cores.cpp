#include "framework/config/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace tenon::config {
namespace {

int64_t count_affinity() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  // More cores than the set has room for.
  return static_cast<int64_t>(std::thread::hardware_concurrency());
}

// The process's place in the one hierarchy of control groups v2: "/user.slice/...". Empty where there is none.
std::filesystem::path find_control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

}  // namespace

int64_t read_core_limit(const std::filesystem::path& cpu_max) {
  std::ifstream file(cpu_max);
  int64_t quota = 0;
  int64_t period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return quota / period + (quota % period != 0);
}

int64_t count_usable_cores() {
  int64_t cores = count_affinity();
  const std::filesystem::path root = "/sys/fs/cgroup";
  // The limit of every group that this one is in holds too.
  for (std::filesystem::path group = find_control_group();; group = group.parent_path()) {
    if (const int64_t limit = read_core_limit(root / group / "cpu.max"); limit > 0) cores = std::min(cores, limit);
    if (group.empty()) break;
  }
  return std::max<int64_t>(cores, 1);
}

}  // namespace tenon::config
