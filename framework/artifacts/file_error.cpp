#include "framework/artifacts/file_error.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace tenon::artifacts {

namespace {

// Errors that another file, or the same file at another time, would get too.
bool is_fault_of_machine(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == EMFILE || error == ENFILE ||
         error == ENOMEM || error == ENOLCK;
}

const char* find_hint(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "; free some space, or choose another run.output_dir (for host pack: another --output)";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a writable run.output_dir (for host pack: a writable --output)";
    case EFBIG: return "; the file would exceed the file size limit of the process (ulimit -f) or of the file system";
    case EIO: return "; the disk or its driver reports a fault: check the kernel log";
    case EMFILE:
    case ENFILE: return "; raise the limit of open files (ulimit -n)";
    case ENAMETOOLONG: return "; choose a shorter run.name or run.output_dir";
    default: return "";
  }
}

}  // namespace

support::Error make_file_error(support::ErrorKind kind, const std::filesystem::path& path, std::string_view what,
                               int error) {
  std::string message = path.string();
  message += ": ";
  message += what;
  message += ": ";
  message += std::generic_category().message(error);
  message += find_hint(error);
  return support::Error(is_fault_of_machine(error) ? support::ErrorKind::system : kind, message);
}

}  // namespace tenon::artifacts
