// Fails system calls of a process, as a file system does that lacks them or is full. For LD_PRELOAD. The environment
// variable TENON_TEST_REFUSED lists calls, separated by ";": NAME:PATH:ERRNO refuses each call of this name with a path
// that contains PATH. Names: create, mkdir, rename, exchange, symlink, unlink (also of folders), write.
//
// Signal handlers, and children between fork() and exec(), also call these functions, so they allocate no memory.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>  // RENAME_EXCHANGE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

// Returns the part before the separator, and removes both from the text.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return part;
}

// Returns 0 if the call is to be made, or the errno that it is to return.
int refuse(std::string_view name, std::string_view path) {
  const char* const refused = std::getenv("TENON_TEST_REFUSED");
  for (std::string_view rest = refused ? refused : ""; !rest.empty();) {
    std::string_view entry = take(rest, ';');
    const std::string_view call = take(entry, ':'), part = take(entry, ':');
    if (call == name && path.find(part) != path.npos) return std::atoi(entry.data());
  }
  return 0;
}

int refuse_write(int descriptor) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path);
  return size < 0 ? 0 : refuse("write", {path, static_cast<size_t>(size)});
}

template <class... Arguments>
long make_call(int error, long number, Arguments... arguments) {
  if (error == 0) return syscall(number, arguments...);
  errno = error;
  return -1;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  const int error = flags & O_CREAT ? refuse("create", path) : 0;
  return static_cast<int>(make_call(error, SYS_openat, folder, path, flags, mode));
}

mode_t read_mode(int flags, va_list arguments) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

int remove_at(int folder, const char* path, int flags) {
  return static_cast<int>(make_call(refuse("unlink", path), SYS_unlinkat, folder, path, flags));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = read_mode(flags, arguments);
  va_end(arguments);
  return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = read_mode(flags, arguments);
  va_end(arguments);
  return open_file(folder, path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  return make_call(refuse_write(descriptor), SYS_write, descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return make_call(refuse_write(descriptor), SYS_pwrite64, descriptor, bytes, size, offset);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(make_call(refuse("mkdir", path), SYS_mkdirat, AT_FDCWD, path, mode));
}

int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(make_call(refuse("rename", to), SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  const int error = flags & RENAME_EXCHANGE ? refuse("exchange", to) : 0;
  return static_cast<int>(make_call(error, SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int symlink(const char* target, const char* path) noexcept {
  return static_cast<int>(make_call(refuse("symlink", path), SYS_symlinkat, target, AT_FDCWD, path));
}

int unlink(const char* path) noexcept { return remove_at(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char* path, int flags) noexcept { return remove_at(folder, path, flags); }
int rmdir(const char* path) noexcept { return remove_at(AT_FDCWD, path, AT_REMOVEDIR); }

int remove(const char* path) noexcept {
  const int result = remove_at(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? remove_at(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

}  // extern "C"
