#include "framework/config/file/usable_resources.h"

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

// A control group of Linux that limits this process.
struct ControlGroup {
  bool is_v2;
  fs::path folder;
};

// `controllers`: "cpu,cpuacct".
bool has_controller(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

// A mounted hierarchy of control groups.
struct Hierarchy {
  bool is_v2 = false;
  fs::path shown;  // the group at the mount point; not "/" in containers
  fs::path mount_point;
};

// Parses a line of /proc/self/mountinfo. proc(5) describes the fields.
std::optional<Hierarchy> parse_mount(const std::string& line, const std::string& controller) {
  const size_t separator = line.find(" - ");
  if (separator == std::string::npos) return std::nullopt;
  std::istringstream before(line.substr(0, separator));
  std::istringstream after(line.substr(separator + 3));
  std::string ignored, shown, mount_point, type, options;
  before >> ignored >> ignored >> ignored >> shown >> mount_point;
  after >> type >> ignored >> options;
  if (type != "cgroup2" && !(type == "cgroup" && has_controller(options, controller))) return std::nullopt;
  return Hierarchy{type == "cgroup2", shown, mount_point};
}

// Finds the group of the process in a hierarchy, from /proc/self/cgroup: "0::/user.slice/..." or
// "3:cpu,cpuacct:/docker/...".
fs::path find_group(const fs::path& root, bool is_v2, const std::string& controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? controllers.empty() : has_controller(controllers, controller)) return line.substr(second + 1);
  }
  return {};
}

// Returns the path of the group below the mount point. A group outside of the mounted tree keeps its full path.
fs::path find_below(const fs::path& group, const fs::path& shown) {
  const fs::path below = group.lexically_relative(shown);
  return (below.empty() || *below.begin() == ".." ? group : below).relative_path();
}

// Returns the groups of the process and all their parent groups, in each mounted hierarchy that may limit what
// `controller` names: "cpu" or "memory".
std::vector<ControlGroup> find_control_groups(const std::string& controller, const fs::path& root) {
  std::vector<ControlGroup> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto hierarchy = parse_mount(line, controller);
    if (!hierarchy) continue;
    const fs::path top = root / hierarchy->mount_point.relative_path();
    fs::path group = find_below(find_group(root, hierarchy->is_v2, controller), hierarchy->shown);
    for (;; group = group.parent_path()) {
      found.push_back({hierarchy->is_v2, top / group});
      if (group.empty()) break;
    }
  }
  return found;
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

int64_t count_affinity() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  // The machine has more cores than the set can hold.
  return static_cast<int64_t>(std::thread::hardware_concurrency());
}

// The file cpu.max contains "150000 100000", or "max 100000" for no quota.
double read_quota(const ControlGroup& group) {
  double quota = 0, period = 0;
  if (group.is_v2)
    std::ifstream(group.folder / "cpu.max") >> quota >> period;
  else if (std::ifstream(group.folder / "cpu.cfs_quota_us") >> quota)
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : kNoQuota;
}

// The cores that srun allocated on this machine, else all its cores.
int64_t count_cores_of_machine() {
  const char* const granted = std::getenv("SLURM_CPUS_ON_NODE");
  const long cores = granted ? std::atol(granted) : 0;
  return cores > 0 ? cores : std::max(sysconf(_SC_NPROCESSORS_CONF), 1L);
}

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Nothing if the file does not start with a number, such as "max" for no limit.
std::optional<int64_t> read_number(const fs::path& file) {
  int64_t number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

// The number after `key` at the start of a line; 0 if there is none.
int64_t find_number(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return 0;
}

int64_t read_rest(const ControlGroup& group) {
  const auto limit = read_number(group.folder / (group.is_v2 ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = read_number(group.folder / (group.is_v2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return kUnlimited;
  const int64_t cached =
      find_number(group.folder / "memory.stat", group.is_v2 ? "inactive_file" : "total_inactive_file");
  return std::max<int64_t>(*limit - std::max<int64_t>(*used - cached, 0), 0);
}

}  // namespace

double read_cpu_quota(const fs::path& root) {
  double least = kNoQuota;
  for (const ControlGroup& group : find_control_groups("cpu", root)) least = std::min(least, read_quota(group));
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

std::optional<int64_t> read_usable_memory(const fs::path& root) {
  const int64_t kibibytes = find_number(root / "proc/meminfo", "MemAvailable:");
  int64_t least = kibibytes > 0 ? kibibytes * 1024 : kUnlimited;
  for (const ControlGroup& group : find_control_groups("memory", root)) least = std::min(least, read_rest(group));
  return least == kUnlimited ? std::nullopt : std::optional(least);
}

}  // namespace tenon::config
