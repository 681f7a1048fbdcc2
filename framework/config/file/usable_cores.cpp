#include "framework/config/file/usable_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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

bool has_cpu(const std::string& controllers) { return ("," + controllers + ",").find(",cpu,") != std::string::npos; }

// A mounted hierarchy of control groups that may limit CPU time.
struct Hierarchy {
  bool is_v2 = false;
  fs::path shown;  // the group at the mount point; not "/" in containers
  fs::path mount_point;
};

// Parses a line of /proc/self/mountinfo. proc(5) describes the fields.
std::optional<Hierarchy> parse_mount(const std::string& line) {
  const size_t separator = line.find(" - ");
  if (separator == std::string::npos) return std::nullopt;
  std::istringstream before(line.substr(0, separator));
  std::istringstream after(line.substr(separator + 3));
  std::string ignored, shown, mount_point, type, options;
  before >> ignored >> ignored >> ignored >> shown >> mount_point;
  after >> type >> ignored >> options;
  if (type != "cgroup2" && !(type == "cgroup" && has_cpu(options))) return std::nullopt;
  return Hierarchy{type == "cgroup2", shown, mount_point};
}

// Finds the group of the process in a hierarchy, from /proc/self/cgroup: "0::/user.slice/..." or
// "3:cpu,cpuacct:/docker/...".
fs::path find_group(const fs::path& root, bool is_v2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? controllers.empty() : has_cpu(controllers)) return line.substr(second + 1);
  }
  return {};
}

// Returns the path of the group below the mount point. A group outside of the mounted tree keeps its full path.
fs::path find_below(const fs::path& group, const fs::path& shown) {
  const fs::path below = group.lexically_relative(shown);
  return (below.empty() || *below.begin() == ".." ? group : below).relative_path();
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

std::vector<Hierarchy> find_hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);)
    if (const auto hierarchy = parse_mount(line)) found.push_back(*hierarchy);
  return found;
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
  for (const Hierarchy& hierarchy : find_hierarchies(root)) {
    const fs::path top = root / hierarchy.mount_point.relative_path();
    // The quotas of all parent groups apply too.
    for (fs::path group = find_below(find_group(root, hierarchy.is_v2), hierarchy.shown);;
         group = group.parent_path()) {
      least = std::min(least, hierarchy.is_v2 ? read_quota_v2(top / group) : read_quota_v1(top / group));
      if (group.empty()) break;
    }
  }
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
