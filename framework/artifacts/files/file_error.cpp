#include "framework/artifacts/files/file_error.h"

#include <cerrno>
#include <string>

#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace {

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
    case ENOTDIR:
      return "; a part of the path is a file; expected a folder: choose another run.output_dir (for host pack: another "
             "--output)";
    case ENAMETOOLONG: return "; choose a shorter name (for a run: run.name or run.output_dir)";
    default: return "";
  }
}

}  // namespace

support::Error make_file_error(support::ErrorKind kind, const std::filesystem::path& path, std::string_view what,
                               int error) {
  const support::Error plain = support::make_path_error(kind, path, what, error);
  return support::Error(plain.kind(), plain.what() + std::string(find_hint(error)));
}

}  // namespace tenon::artifacts
