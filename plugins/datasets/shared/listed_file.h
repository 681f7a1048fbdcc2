// Which entries of a folder are files.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <tenon/error.hpp>

namespace datasets {

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

}  // namespace datasets
