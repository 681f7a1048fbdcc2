#include "framework/support/files/files.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::support {
namespace {

namespace fs = std::filesystem;

using IsFitting = std::function<bool(const fs::path&)>;

std::vector<fs::path> list_or_nothing(const fs::path& folder) {
  try {
    return list_folder(folder, ErrorKind::system);
  } catch (const Error&) {
    return {};
  }
}

// None if no path is near. REQUIRES: the path has no slash at its end.
std::optional<fs::path> find_nearest(const fs::path& path, const IsFitting& is_fitting) {
  if (path_exists(path)) return is_fitting(path) ? std::optional(path) : std::nullopt;
  const std::string name = path.filename().string();
  fs::path folder = path.parent_path();
  if (name.empty()) return std::nullopt;
  if (!folder.empty()) {
    const auto nearest = find_nearest(folder, is_folder);
    if (!nearest) return std::nullopt;
    folder = *nearest;
  }
  if (is_fitting(folder / name)) return folder / name;
  std::vector<std::string> names;
  for (const fs::path& entry : list_or_nothing(folder.empty() ? "." : folder))
    if (is_fitting(entry)) names.push_back(entry.filename().string());
  const auto nearest = formats::nearest_name(name, names);
  return nearest ? std::optional(folder / *nearest) : std::nullopt;
}

}  // namespace

bool path_exists(const fs::path& path) {
  std::error_code refused;
  return fs::exists(path, refused);
}

bool is_folder(const fs::path& path) {
  std::error_code refused;
  return fs::is_directory(path, refused);
}

bool is_file(const fs::path& path) {
  std::error_code refused;
  return fs::is_regular_file(path, refused);
}

std::string describe_path(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  switch (status.type()) {
    case fs::file_type::regular: return "is a file";
    case fs::file_type::directory: return "is a folder";
    case fs::file_type::not_found: return "does not exist";
    case fs::file_type::none: return "cannot be read: " + error.message();
    default: return "is neither a file nor a folder";
  }
}

std::string format_path(const fs::path& path) { return path.empty() ? "\"\"" : path.string(); }

// These are errors that another file, or the same file at another time, would get too.
ErrorKind kind_of_errno(ErrorKind kind, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOLCK: return ErrorKind::system;
    default: return kind;
  }
}

void refuse_path(ErrorKind kind, const fs::path& path, const std::string& message) {
  throw Error(kind, format_path(path) + ": " + message);
}

Error make_path_error(ErrorKind kind, const fs::path& path, std::string_view what, int error) {
  return Error(kind_of_errno(kind, error), "{}: {}: {}", format_path(path), what,
               std::generic_category().message(error));
}

std::vector<fs::path> list_folder(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  errno = entries ? 0 : errno;
  while (const dirent* const entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") paths.push_back(folder / name);
    errno = 0;
  }
  error = std::error_code(errno, std::generic_category());
  std::ranges::sort(paths, {}, [](const fs::path& path) -> const std::string& { return path.native(); });
  return paths;
}

std::vector<fs::path> list_folder(const fs::path& folder, ErrorKind kind) {
  std::error_code error;
  std::vector<fs::path> paths = list_folder(folder, error);
  if (error) throw make_path_error(kind, folder, "cannot be listed", error.value());
  return paths;
}

uint64_t read_file_size(const fs::path& file, ErrorKind kind) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) throw make_path_error(kind, file, "has no size", error.value());
  return bytes;
}

fs::path find_canonical(const fs::path& path, ErrorKind kind) {
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  if (error) throw make_path_error(kind, path, "cannot be read", error.value());
  return canonical;
}

void remove_tree(const fs::path& path, ErrorKind kind) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw make_path_error(kind, path, "cannot be removed", error.value());
}

void replace_with_empty_folder(const fs::path& folder, ErrorKind kind) {
  remove_tree(folder, kind);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) throw make_path_error(kind, folder, "cannot be created", error.value());
}

void rename_path(const fs::path& from, const fs::path& to, ErrorKind kind) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw make_path_error(kind, to, "cannot be replaced", error.value());
}

fs::path find_working_folder(ErrorKind kind) {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  if (error) throw make_path_error(kind, ".", "the working directory has no path", error.value());
  return folder;
}

fs::path make_absolute(const fs::path& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  return error || absolute.empty() ? path : absolute;
}

fs::path find_canonical_or_absolute(const fs::path& path) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  return error || canonical.empty() ? make_absolute(path) : canonical;
}

fs::path find_temporary_folder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  const char* const named = std::getenv("TMPDIR");
  throw make_path_error(ErrorKind::system, named ? named : "/tmp",
                        "cannot be used for temporary files (set TMPDIR to a folder)", error.value());
}

std::string suggest_path(const fs::path& path, const IsFitting& is_fitting) {
  if (describe_path(path) != "does not exist") return "";
  const auto nearest = find_nearest(path.has_filename() ? path : path.parent_path(), is_fitting);
  return nearest ? formats::did_you_mean(nearest->string()) : "";
}

}  // namespace tenon::support
