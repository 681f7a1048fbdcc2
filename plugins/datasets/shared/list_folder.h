// Lists folders. A folder that cannot be listed is a tenon::DataError with the path and the reason.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/error.hpp>

namespace datasets {

[[noreturn]] inline void refuse_listing(const std::filesystem::path& folder, const std::error_code& error,
                                        const std::string& expected) {
  throw tenon::DataError(folder.native() + ": cannot be listed: " + error.message() + "; expected " + expected);
}

// False for a path that the system refuses, such as a symbolic link that leads back to itself. Opening it as a file
// reports the reason.
inline bool is_folder(const std::filesystem::path& path) {
  std::error_code refused;
  return std::filesystem::is_directory(path, refused);
}

// Calls `visit(entry)` with each entry of a folder. `expected`: "a folder of .npy files".
template <class Visit>
void visit_folder(const std::filesystem::path& folder, const std::string& expected, const Visit& visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    visit(*entry);
  if (error) refuse_listing(folder, error, expected);
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

}  // namespace datasets
