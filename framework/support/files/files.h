// File system functions that throw an Error with the path, the reason and a kind. The functions of std::filesystem
// throw errors without a kind; tests/tidy/check_filesystem.py refuses them elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::support {

// These follow symbolic links. They return false if the system refuses the path, such as a symbolic link that leads
// back to itself or a name that is too long. describe_path() returns the reason.
bool path_exists(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

// Returns what a path is, as the rest of a sentence: "is a file", "is a folder", "is neither a file nor a folder",
// "does not exist", "cannot be read: File name too long".
std::string describe_path(const std::filesystem::path& path);

// Returns the path as a message shows it: `""` for an empty path, which would be invisible.
std::string format_path(const std::filesystem::path& path);

// Returns `system` if the errno is a fault of the machine, such as a full disk, and `kind` otherwise.
ErrorKind kind_of_errno(ErrorKind kind, int error);

// Example: `runs/a: cannot be listed: Permission denied`. `error` is an errno.
Error make_path_error(ErrorKind kind, const std::filesystem::path& path, std::string_view what, int error);

// Throws Error(kind): `PATH: MESSAGE`.
[[noreturn]] void refuse_path(ErrorKind kind, const std::filesystem::path& path, const std::string& message);
// The message is fmt::format(format, arguments...).
template <class Argument, class... More>
[[noreturn]] void refuse_path(ErrorKind kind, const std::filesystem::path& path,
                              fmt::format_string<Argument, More...> format, Argument&& argument, More&&... more) {
  refuse_path(kind, path, fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
}

// Returns the paths of the entries in byte order, without "." and "..". Use it instead of std::filesystem's iterators,
// which end the process (std::terminate) if memory runs out.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder, std::error_code& error);

// The functions below throw make_path_error() with `kind`.

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder, ErrorKind kind);
uint64_t read_file_size(const std::filesystem::path& file, ErrorKind kind);
// Resolves symbolic links.
std::filesystem::path find_canonical(const std::filesystem::path& path, ErrorKind kind);
// Removes a file, or a folder with its content. A path that does not exist is not an error.
void remove_tree(const std::filesystem::path& path, ErrorKind kind);
// Creates an empty folder in place of whatever has the name.
void replace_with_empty_folder(const std::filesystem::path& folder, ErrorKind kind);
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to, ErrorKind kind);
std::filesystem::path find_working_folder(ErrorKind kind);

// Returns the absolute path. An empty path, and a relative path in a removed working directory, stay as they are.
std::filesystem::path make_absolute(const std::filesystem::path& path);
// Resolves symbolic links as far as the path exists. A path that the system refuses only becomes absolute.
std::filesystem::path find_canonical_or_absolute(const std::filesystem::path& path);

// Returns the folder for temporary files: $TMPDIR, or /tmp. Throws Error(system) if it is not a folder.
std::filesystem::path find_temporary_folder();

// Returns `; did you mean configs/digits.toml?` if nothing exists at the path and an existing path is near: each name
// in it is the same or the nearest one. `is_fitting` selects what the path may lead to, such as only files. Otherwise
// returns "".
std::string suggest_path(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& is_fitting);

}  // namespace tenon::support
