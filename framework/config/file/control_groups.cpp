#include "framework/config/file/control_groups.h"

#include <fstream>
#include <optional>
#include <sstream>

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace tenon::config
