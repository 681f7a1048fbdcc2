#include "framework/support/files/installation.h"

#include <dlfcn.h>

#include <string>
#include <system_error>

#include "framework/support/files/files.h"

namespace tenon::support {

namespace fs = std::filesystem;

namespace {

fs::path find_program_file() {
  constexpr const char* kSelf = "/proc/self/exe";
  std::error_code error;
  fs::path program = fs::read_symlink(kSelf, error);
  if (error) throw make_path_error(ErrorKind::system, kSelf, "cannot be read (is /proc mounted?)", error.value());
  return program;
}

}  // namespace

Installation find_installation() {
  Dl_info found{};
  const bool is_found = dladdr(reinterpret_cast<const void*>(&find_installation), &found) != 0 && found.dli_fname;
  const fs::path file = is_found ? found.dli_fname : "";
  if (file.filename().string().starts_with("libtenon_engine")) {
    const fs::path folder = file.parent_path();
    return {folder.parent_path().parent_path().parent_path(), folder};
  }
  const fs::path prefix = find_program_file().parent_path().parent_path();
  return {prefix, prefix / "lib/tenon"};
}

}  // namespace tenon::support
