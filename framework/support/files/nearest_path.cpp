#include "framework/support/files/nearest_path.h"

#include <optional>
#include <vector>

#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::support {

namespace fs = std::filesystem;

namespace {

using IsFitting = std::function<bool(const fs::path&)>;

std::vector<fs::path> list_or_nothing(const fs::path& folder) {
  try {
    return list_folder(folder, ErrorKind::system);
  } catch (const Error&) {
    return {};
  }
}

// None if no path is near. REQUIRES: the path has no slash at its end.
std::optional<fs::path> find_nearest(const fs::path& path, const IsFitting& is_fitting) {
  if (path_exists(path)) return is_fitting(path) ? std::optional(path) : std::nullopt;
  const std::string name = path.filename().string();
  fs::path folder = path.parent_path();
  if (name.empty()) return std::nullopt;
  if (!folder.empty()) {
    const auto nearest = find_nearest(folder, is_folder);
    if (!nearest) return std::nullopt;
    folder = *nearest;
  }
  if (is_fitting(folder / name)) return folder / name;
  std::vector<std::string> names;
  for (const fs::path& entry : list_or_nothing(folder.empty() ? "." : folder))
    if (is_fitting(entry)) names.push_back(entry.filename().string());
  const auto nearest = formats::nearest_name(name, names);
  return nearest ? std::optional(folder / *nearest) : std::nullopt;
}

}  // namespace

std::string suggest_path(const fs::path& path, const IsFitting& is_fitting) {
  if (describe_path(path) != "does not exist") return "";
  const auto nearest = find_nearest(path.has_filename() ? path : path.parent_path(), is_fitting);
  return nearest ? formats::did_you_mean(nearest->string()) : "";
}

}  // namespace tenon::support
