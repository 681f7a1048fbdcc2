#include "framework/config/file/usable_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "framework/config/file/control_groups.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;

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

std::optional<int64_t> read_usable_memory(const fs::path& root) {
  const int64_t kibibytes = find_number(root / "proc/meminfo", "MemAvailable:");
  int64_t least = kibibytes > 0 ? kibibytes * 1024 : kUnlimited;
  for (const ControlGroup& group : find_control_groups("memory", root)) least = std::min(least, read_rest(group));
  if (least == kUnlimited) return std::nullopt;
  return least;
}

}  // namespace tenon::config
