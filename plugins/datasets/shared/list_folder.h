// Lists folders. A folder that cannot be listed is a tenon::DataError with the path and the reason.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

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

// Calls `visit(entry)` with each entry of a folder and of the folders in it. `visit` returns false for a folder that is
// not listed. Symbolic links to folders are not followed.
template <class Visit>
void visit_tree(const std::filesystem::path& folder, const std::string& expected, const Visit& visit) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error), end;
  std::filesystem::path listed = folder;
  while (!error && entry != end) {
    if (!visit(*entry)) entry.disable_recursion_pending();
    listed = entry->path();
    entry.increment(error);
  }
  if (error) refuse_listing(listed, error, expected);
}

}  // namespace datasets
