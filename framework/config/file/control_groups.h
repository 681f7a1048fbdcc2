// The control groups of Linux that limit this process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::config {

struct ControlGroup {
  bool is_v2;
  std::filesystem::path folder;
};

// Returns the groups of the process and all their parent groups, in each mounted hierarchy that may limit what
// `controller` names: "cpu" or "memory". `root` replaces "/" in tests.
std::vector<ControlGroup> find_control_groups(const std::string& controller, const std::filesystem::path& root = "/");

}  // namespace tenon::config
