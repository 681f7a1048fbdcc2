#include "framework/components/loading/inspect_library.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "framework/components/loading/elf_image.h"
#include "framework/components/loading/elf_note.h"
#include "framework/components/loading/shared_library.h"
#include "framework/components/loading/write_permission.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"

namespace tenon::components {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

class Opened {
 public:
  // Without O_NONBLOCK, opening a pipe would block the host until another process writes to it.
  explicit Opened(const fs::path& path)
      : descriptor_(support::retry_interrupted(
            [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); })) {
    if (!descriptor_.is_open() || fstat(descriptor_.number(), &status_) != 0) failure_ = errno;
  }

  int failure() const { return failure_; }  // errno; 0: it is open
  int descriptor() const { return descriptor_.number(); }
  const struct stat& status() const { return status_; }

 private:
  support::FileDescriptor descriptor_;
  struct stat status_ {};
  int failure_ = 0;
};

[[noreturn]] void refuse_library(const fs::path& file, const std::string& found) {
  throw Error(ErrorKind::plugin, support::print_path(file) + ": " + found +
                                     "; expected a whole shared library for this machine (" + this_machine() +
                                     ", 64-bit little-endian ELF): build or copy it again, or move the file out of the "
                                     "plugin directory");
}

const char* describe_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

LibraryInfo inspect_library(const fs::path& file, const std::string& symbol) {
  const Opened opened(file);
  if (opened.failure() != 0) refuse_library(file, std::string("cannot be read: ") + std::strerror(opened.failure()));
  if (!S_ISREG(opened.status().st_mode))
    refuse_library(file, std::string("is ") + describe_kind(opened.status().st_mode));
  LibraryInfo info;
  bool has_symbol = false;
  try {
    require_no_other_writer(file);
    const ElfImage image(opened.descriptor(), static_cast<uint64_t>(opened.status().st_size));
    has_symbol = image.exports_function(symbol);
    info.needed = image.needed();
    info.note = read_note_section(image);
  } catch (const std::invalid_argument& found) {
    refuse_library(file, found.what());
  }
  if (!has_symbol) throw_without_symbol(file, symbol);
  return info;
}

std::vector<std::string> find_libtorch(const std::vector<std::string>& needed) {
  std::vector<std::string> found;
  for (const std::string& library : needed) {
    const std::string name = fs::path(library).filename().string();
    if (name.starts_with("libtorch") || name.starts_with("libc10")) found.push_back(library);
  }
  return found;
}

}  // namespace tenon::components
