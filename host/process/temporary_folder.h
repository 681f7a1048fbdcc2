// A temporary folder.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::host {

// Creates a folder in the system's temporary directory. The destructor removes it with its contents, unless keep() was
// called.
class TemporaryFolder {
 public:
  // Throws Error(system) with the path and the reason.
  explicit TemporaryFolder(const std::string& prefix) {
    std::string path = (support::find_temporary_folder() / (prefix + "XXXXXX")).string();
    if (!mkdtemp(path.data()))
      throw support::Error(support::ErrorKind::system, path + ": cannot be created: " + std::strerror(errno));
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!is_kept_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { is_kept_ = true; }

 private:
  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace tenon::host
