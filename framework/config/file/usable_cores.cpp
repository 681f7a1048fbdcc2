#include "framework/config/file/usable_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include "framework/config/file/control_groups.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

int64_t count_affinity() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  // The machine has more cores than the set can hold.
  return static_cast<int64_t>(std::thread::hardware_concurrency());
}

double read_quota_v1(const fs::path& group) {
  double quota = 0, period = 0;
  const bool is_read =
      (std::ifstream(group / "cpu.cfs_quota_us") >> quota) && (std::ifstream(group / "cpu.cfs_period_us") >> period);
  return is_read && quota > 0 && period > 0 ? quota / period : kNoQuota;
}

// The file contains "150000 100000", or "max 100000" for no quota.
double read_quota_v2(const fs::path& group) {
  double quota = 0, period = 0;
  const bool is_read = static_cast<bool>(std::ifstream(group / "cpu.max") >> quota >> period);
  return is_read && quota > 0 && period > 0 ? quota / period : kNoQuota;
}

// The cores that srun allocated on this machine, else all its cores.
int64_t count_cores_of_machine() {
  const char* const granted = std::getenv("SLURM_CPUS_ON_NODE");
  const long cores = granted ? std::atol(granted) : 0;
  return cores > 0 ? cores : std::max(sysconf(_SC_NPROCESSORS_CONF), 1L);
}

}  // namespace

double read_cpu_quota(const fs::path& root) {
  double least = kNoQuota;
  for (const ControlGroup& group : find_control_groups("cpu", root))
    least = std::min(least, group.is_v2 ? read_quota_v2(group.folder) : read_quota_v1(group.folder));
  return least == kNoQuota ? 0 : least;
}

int64_t count_usable_cores() {
  const int64_t cores = count_affinity();
  const double quota = read_cpu_quota();
  const double limit = quota > 0 ? std::ceil(quota) : kNoQuota;
  return std::max<int64_t>(limit < static_cast<double>(cores) ? static_cast<int64_t>(limit) : cores, 1);
}

int64_t count_usable_cores(int64_t local_processes) {
  const int64_t cores = count_usable_cores();
  if (local_processes <= 1) return cores;
  return std::max<int64_t>(std::min(cores, count_cores_of_machine() / local_processes), 1);
}

}  // namespace tenon::config
