// Paths that may be patterns. A path that exists is that path, whatever characters it has, and the host puts the folder
// of the run file before what the user wrote. So only the part after the last folder that exists is a pattern.
#pragma once

#include <glob.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace datasets {

struct PathPattern {
  std::string existing;  // "/runs/w[1]/", with the slash at its end; may be empty
  std::string pattern;   // "train-*.parquet"; empty: the whole path exists
};

inline PathPattern split_pattern(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code refused;  // reported when the file is opened
  if (fs::exists(path, refused)) return {path, ""};
  size_t end = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (slash > 0 && !fs::exists(path.substr(0, slash), refused)) break;
    end = slash + 1;
  }
  return {path.substr(0, end), path.substr(end)};
}

// Returns the path itself if it exists, otherwise the files that it matches as a pattern of glob(7), in no order.
// `flags`: GLOB_BRACE, or 0.
inline std::vector<std::string> match_files(const std::string& path, int flags) {
  const auto [existing, pattern] = split_pattern(path);
  if (pattern.empty()) return {path};
  std::string escaped;
  for (const char c : existing) {
    if (std::string_view("*?[]{}\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  glob_t found = {};
  const int status = ::glob((escaped + pattern).c_str(), GLOB_ERR | GLOB_NOSORT | flags, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return files;
}

}  // namespace datasets
