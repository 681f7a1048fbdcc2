// Finds the files of a dataset.
#pragma once

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/error.hpp>
#include <tenon/plugin.hpp>

namespace datasets {

// False for a path that the system refuses, such as a symbolic link that leads back to itself. Opening it as a file
// reports the reason.
inline bool is_folder(const std::filesystem::path& path) {
  std::error_code refused;
  return std::filesystem::is_directory(path, refused);
}

// Calls `visit(entry)` with each entry of a folder. `expected`: "a folder of .npy files". Throws tenon::DataError with
// the path and the reason if the folder cannot be listed.
template <class Visit>
void visit_folder(const std::filesystem::path& folder, const std::string& expected, const Visit& visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    visit(*entry);
  if (error)
    throw tenon::DataError(folder.native() + ": cannot be listed: " + error.message() + "; expected " + expected);
}

// The device and number of a folder, which several paths may lead to. No value if it cannot be examined.
using FolderId = std::optional<std::pair<dev_t, ino_t>>;

inline FolderId identify_folder(const std::filesystem::path& folder) {
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

// `above`: the folders that contain this one.
template <class Visit>
void visit_tree_below(const std::filesystem::path& folder, const std::string& expected, const Visit& visit,
                      std::vector<FolderId>& above) {
  const FolderId id = identify_folder(folder);
  if (id && std::find(above.begin(), above.end(), id) != above.end()) return;
  above.push_back(id);
  visit_folder(folder, expected, [&](const std::filesystem::directory_entry& entry) {
    std::error_code refused;  // a link without a target is no folder
    if (visit(entry) && entry.is_directory(refused)) visit_tree_below(entry.path(), expected, visit, above);
  });
  above.pop_back();
}

// Calls `visit(entry)` with each entry of a folder and of the folders in it. `visit` returns false for a folder that is
// not listed. Symbolic links to folders are followed, except those that lead to a folder that contains them, which
// would have no end.
template <class Visit>
void visit_tree(const std::filesystem::path& folder, const std::string& expected, const Visit& visit) {
  std::vector<FolderId> above;
  std::error_code refused;  // reported when the folder is listed
  for (std::filesystem::path at = std::filesystem::canonical(folder, refused); at.has_relative_path();) {
    at = at.parent_path();
    above.push_back(identify_folder(at));
  }
  visit_tree_below(folder, expected, visit, above);
}

// Returns whether a listed path is a regular file, or a link to one. False for a folder. Throws tenon::DataError naming
// the path for a link without a target, a FIFO, a socket or a device: the sample would otherwise be missing without a
// word. `expected`: "an image".
inline bool is_listed_file(const std::filesystem::directory_entry& entry, const std::string& expected) {
  namespace fs = std::filesystem;
  std::error_code failure;
  // The listing has the types of most entries, which saves a system call for each file of a large folder.
  if (entry.is_regular_file(failure)) return true;
  if (entry.is_directory(failure)) return false;
  const fs::file_type type = entry.status(failure).type();
  std::string found = "is neither a file nor a folder, but a FIFO, a socket or a device";
  if (std::error_code unreadable; entry.is_symlink(unreadable)) {
    found = "is a symbolic link to " + fs::read_symlink(entry.path(), unreadable).native();
    if (type == fs::file_type::not_found) found += ", which does not exist";
    if (failure == std::errc::too_many_symbolic_link_levels) found += ", which leads back to it";
  }
  if (type == fs::file_type::none && failure != std::errc::too_many_symbolic_link_levels)
    found = "cannot be examined: " + failure.message();
  throw tenon::DataError(entry.path().native() + ": " + found + "; expected " + expected + "; fix or remove it");
}

// A path that may be a pattern. A path that exists is that path, whatever characters it has, and the host puts the
// folder of the run file before what the user wrote. So only the part after the last folder that exists is a pattern.
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

// The files that a list names, checked before the first sample is read.
class ListedPaths {
 public:
  // Declares `missing_files`.
  static tenon::Param parameter();

  // `list`: the path of the list, for messages.
  explicit ListedPaths(std::string list) : list_(std::move(list)) {}

  // Looks whether there is a file at the path. `place`: its line in the list.
  void add(const std::string& path, const std::string& place);

  // Throws tenon::DataError with the number of missing files, the first three and what may be wrong; or logs it as a
  // warning, if `missing_files` is "warn".
  void check(const std::string& missing_files) const;

 private:
  std::string list_;
  size_t listed_ = 0;
  size_t missing_ = 0;
  std::string first_;     // path
  std::string examples_;  // at most three, with their places
};

}  // namespace datasets
