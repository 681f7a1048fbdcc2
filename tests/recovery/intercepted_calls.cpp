// Logs the calls of a process that open or change files in the checkpoints of a run, and kills the process or fails the
// call at one of them. killed_saves_test.cpp loads this library into the host with LD_PRELOAD. Environment variables:
//
//   TENON_TEST_CALLS_OF     the folder with the run folders; calls elsewhere are not intercepted
//   TENON_TEST_CALLS_LOG    a file; each call adds the line "PROCESS THREAD RESULT NAME PATHS" before it is made
//   TENON_TEST_CALL         the number of the call at which something happens, counted from 1 in each process
//   TENON_TEST_CALL_RESULT  "kill": the process is killed before the call; "tear": it is killed after it has written
//                           half of the bytes; otherwise the errno of the failed call
//
// THREAD is "main" or "other". RESULT is "none", or that of the call at which something happens. PATHS are relative to
// the run folder and do not contain the numbers in temporary names. Two runs that do the same therefore log the same
// lines, except for PROCESS.
//
// The functions replace those of the C library and make the system calls themselves. Signal handlers, and children
// between fork() and exec(), also call them, so they neither allocate memory nor lock.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

struct Settings {
  const char* folder = nullptr;  // null: no call is intercepted
  const char* log = nullptr;
  int number = 0;  // 0: nothing happens at any call
  const char* result = nullptr;
};

Settings settings;
std::atomic<int> calls{0};

// Runs after the constructors of some other libraries. Their calls belong to no save.
[[gnu::constructor]] void read_settings() {
  const char* const number = std::getenv("TENON_TEST_CALL");
  const char* const result = std::getenv("TENON_TEST_CALL_RESULT");
  if (number && result) {
    settings.number = std::atoi(number);
    settings.result = result;
  }
  settings.log = std::getenv("TENON_TEST_CALLS_LOG");
  settings.folder = settings.log ? std::getenv("TENON_TEST_CALLS_OF") : nullptr;
}

// A path relative to the run folder. It is empty if it is not in the folder "checkpoints".
class CheckpointPath {
 public:
  CheckpointPath() = default;
  explicit CheckpointPath(int descriptor) : CheckpointPath(descriptor, "") {}
  // `folder`: a descriptor, or AT_FDCWD. It is ignored if the path is absolute.
  CheckpointPath(int folder, const char* path) {
    if (!settings.folder) return;
    char whole[PATH_MAX];
    size_t size = 0;
    if (path[0] != '/') {
      char link[64] = "/proc/self/cwd";
      if (folder != AT_FDCWD) std::snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      const ssize_t length = readlink(link, whole, sizeof whole - 1);
      if (length < 0) return;
      size = static_cast<size_t>(length);
      if (path[0] != '\0') whole[size++] = '/';
    }
    const std::string_view rest = path;
    if (size + rest.size() > sizeof whole) return;
    rest.copy(whole + size, rest.size());
    shorten({whole, size + rest.size()});
  }

  bool is_empty() const { return size_ == 0; }
  const char* text() const { return text_; }

 private:
  // Turns "RUNS/2026-11-21T11-30-05/checkpoints/.latest.tmp-4711-2" into "checkpoints/.latest.tmp".
  void shorten(std::string_view path) {
    constexpr std::string_view kCheckpoints = "checkpoints", kTemporary = ".tmp";
    const std::string_view folder = settings.folder;
    if (!path.starts_with(folder)) return;
    path.remove_prefix(folder.size());
    const size_t run_end = path.find('/', 1);
    if (path.empty() || path[0] != '/' || run_end == std::string_view::npos) return;
    path.remove_prefix(run_end + 1);
    if (path.substr(0, path.find('/')) != kCheckpoints) return;
    const size_t numbers = path.find(kTemporary);
    if (numbers == std::string_view::npos) return add(path);
    add(path.substr(0, numbers + kTemporary.size()));
    path.remove_prefix(numbers + kTemporary.size());
    add(path.substr(std::min(path.find_first_not_of("-0123456789"), path.size())));
  }

  void add(std::string_view part) {
    if (size_ + part.size() >= sizeof text_) std::abort();
    part.copy(text_ + size_, part.size());
    size_ += part.size();
  }

  char text_[512] = "";
  size_t size_ = 0;
};

void log_call(const char* result, const char* name, const CheckpointPath& path, const CheckpointPath& other) {
  char line[1200];
  const int length =
      std::snprintf(line, sizeof line, "%d %s %s %s %s%s%s\n", getpid(), gettid() == getpid() ? "main" : "other",
                    result, name, path.text(), path.is_empty() || other.is_empty() ? "" : " ", other.text());
  const long log = syscall(SYS_openat, AT_FDCWD, settings.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0 || syscall(SYS_write, log, line, length) != length) std::abort();
  syscall(SYS_close, log);
}

[[noreturn]] void kill_process() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

constexpr int kTear = -1;

// Returns 0 if the call is to be made, kTear, or the errno that it is to return.
int intercept(const char* name, const CheckpointPath& path, const CheckpointPath& other = {}) {
  if (path.is_empty() && other.is_empty()) return 0;
  const bool is_chosen = ++calls == settings.number;
  log_call(is_chosen ? settings.result : "none", name, path, other);
  if (!is_chosen) return 0;
  if (std::strcmp(settings.result, "kill") == 0) kill_process();
  return std::strcmp(settings.result, "tear") == 0 ? kTear : std::atoi(settings.result);
}

template <class... Arguments>
int make_call(int error, long number, Arguments... arguments) {
  if (error == 0) return static_cast<int>(syscall(number, arguments...));
  errno = error;
  return -1;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  const int error = intercept(flags & O_CREAT ? "create" : "open", CheckpointPath(folder, path));
  return make_call(error, SYS_openat, folder, path, flags, mode);
}

// The mode is the argument after the flags, if there is one.
mode_t read_mode(int flags, va_list arguments) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
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
  const int error = intercept("write", CheckpointPath(descriptor));
  if (error == 0) return syscall(SYS_write, descriptor, bytes, size);
  if (error == kTear) {
    syscall(SYS_write, descriptor, bytes, size / 2);
    kill_process();
  }
  errno = error;
  return -1;
}

int fsync(int descriptor) { return make_call(intercept("fsync", CheckpointPath(descriptor)), SYS_fsync, descriptor); }

int mkdir(const char* path, mode_t mode) noexcept {
  return make_call(intercept("mkdir", {AT_FDCWD, path}), SYS_mkdirat, AT_FDCWD, path, mode);
}

int rename(const char* from, const char* to) noexcept {
  return make_call(intercept("rename", {AT_FDCWD, from}, {AT_FDCWD, to}), SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
                   0);
}

int symlink(const char* target, const char* path) noexcept {
  return make_call(intercept("symlink", {AT_FDCWD, path}), SYS_symlinkat, target, AT_FDCWD, path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return make_call(intercept("unlink", {folder, path}), SYS_unlinkat, folder, path, flags);
}

// The C library's function makes calls that cannot be intercepted.
int remove(const char* path) noexcept {
  const int error = intercept("unlink", {AT_FDCWD, path});
  const int result = make_call(error, SYS_unlinkat, AT_FDCWD, path, 0);
  return result != 0 && error == 0 && errno == EISDIR ? make_call(0, SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
                                                      : result;
}

}  // extern "C"
