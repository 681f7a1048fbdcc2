// A path as a user would type it.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace tenon::support {

// Returns the path from the current folder, if it is below that. Otherwise returns the path unchanged.
inline std::string show_path(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path relative = path.lexically_relative(std::filesystem::current_path(failed));
  return failed || relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

}  // namespace tenon::support
