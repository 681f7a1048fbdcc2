#include "framework/validation/session/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/process/before_exit.h"
#include "framework/support/process/signal_stack.h"
#include "framework/support/text/format.h"

namespace tenon::validation {

namespace {

using Clock = std::chrono::steady_clock;
using support::Error;
using support::ErrorKind;

[[noreturn]] void refuse_call(const char* function) {
  throw Error(ErrorKind::internal, "validate: {} failed: {}", function, std::strerror(errno));
}

// Memory shared with the child process, so that the parent can read it after the child has ended.
struct CallRecord {
  std::atomic<uint32_t> steps;  // number of writes
  char function[64];
  char detail[192];
};

CallRecord& call_record() {
  static CallRecord* const shared = [] {
    void* memory = mmap(nullptr, sizeof(CallRecord), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) refuse_call("mmap");
    return static_cast<CallRecord*>(memory);
  }();
  return *shared;
}

struct Pipe {
  int from;
  int to;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) refuse_call("pipe2");
  return {ends[0], ends[1]};
}

void write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return;  // the parent is gone
    if (written > 0) done += static_cast<size_t>(written);
  }
}

// The byte after a complete result.
constexpr char kEnd = '\x04';
// The exit code of a child process that called exit().
constexpr int kLeftByExit = 99;

[[noreturn]] void be_child(const std::function<std::string()>& body, int output, int result) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  support::set_before_exit([](const char* name, const void*) {
    if (std::strcmp(name, "exit") == 0) support::end_process(kLeftByExit);
  });
  const pid_t process = getpid();
  // A function of the plugin may return in a process that it forked. Only one process reports the result.
  const auto end_forked_process = [&] {
    if (getpid() != process) _exit(static_cast<int>(ErrorKind::plugin));
  };
  std::string text;
  try {
    text = body();
    end_forked_process();
  } catch (const std::exception& error) {
    end_forked_process();
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(nullptr);
    _exit(static_cast<int>(ErrorKind::internal));
  }
  std::fflush(nullptr);
  write_all(result, text + kEnd);
  _exit(0);
}

constexpr size_t kMaxOutput = size_t{64} << 10;

// Reads what is available. Returns false at the end of the file.
bool read_some(int file, std::string& text, size_t most) {
  char buffer[16 * 1024];
  const ssize_t length = read(file, buffer, sizeof buffer);
  if (length > 0) text.append(buffer, static_cast<size_t>(length));
  if (text.size() > most) text.erase(0, text.size() - most);
  return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
}

// Reads from the child process until it ends. Returns false if it reached the time limit. Each step of the trail
// restarts the limit: a check that takes long because of many calls does not hang, however slow the machine is.
bool follow(pid_t child, int output, int result, double timeout_s, ChildEnd& end, int& status) {
  const auto limit_from_now = [&] { return Clock::now() + std::chrono::duration<double>(timeout_s); };
  auto limit = limit_from_now();
  uint32_t steps = call_record().steps;
  pollfd files[] = {{output, POLLIN, 0}, {result, POLLIN, 0}};
  const auto read_ready = [&] {
    if ((files[0].revents & (POLLIN | POLLHUP)) != 0 && !read_some(output, end.output, kMaxOutput)) files[0].fd = -1;
    if ((files[1].revents & (POLLIN | POLLHUP)) != 0 && !read_some(result, end.result, 1 << 24)) files[1].fd = -1;
  };
  for (;;) {
    const bool closed = files[0].fd < 0 && files[1].fd < 0;
    poll(files, 2, closed ? 1 : 20);
    read_ready();
    if (waitpid(child, &status, WNOHANG) == child) break;
    if (const uint32_t now = call_record().steps; now != steps) {
      steps = now;
      limit = limit_from_now();
    }
    if (Clock::now() < limit) continue;
    kill(child, SIGKILL);
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
  }
  kill(-child, SIGKILL);  // the processes that it left running
  while (poll(files, 2, 0) > 0) read_ready();
  return true;
}

std::string signal_name(int signal) {
  const char* const crash = support::describe_crash_signal(signal);
  return crash ? crash : fmt::format("signal {}", signal);
}

}  // namespace

std::string ChildEnd::describe() const {
  const std::string where = function.empty() ? "" : " in " + function;
  switch (how) {
    case How::finished: return "finished";
    case How::exited:
      return code == kLeftByExit
                 ? fmt::format("ended the process with exit(){}; expected it to return", where)
                 : fmt::format("ended the process{} with exit code {}; expected it to return", where, code);
    case How::crashed: return "crashed with " + signal_name(code) + where;
    case How::timed_out: return "did not end within the time limit" + where;
  }
  return "";
}

ChildEnd run_in_child(const std::function<std::string()>& body, double timeout_s) {
  const size_t threads = count_threads();
  TENON_CHECK(threads == 1, "fork requires a single thread; there are " << threads << " threads");
  clear_call_record();
  std::fflush(nullptr);
  const Pipe output = make_pipe();
  const Pipe result = make_pipe();
  const pid_t child = fork();
  if (child < 0) refuse_call("fork");
  if (child == 0) be_child(body, output.to, result.to);
  setpgid(child, child);
  close(output.to);
  close(result.to);
  ChildEnd end{};
  int status = 0;
  const bool ended = follow(child, output.from, result.from, timeout_s, end, status);
  close(output.from);
  close(result.from);
  const CallRecord& left = call_record();
  end.function = left.function;
  if (left.detail[0] != '\0') end.function += fmt::format(" ({})", left.detail);
  const bool complete = !end.result.empty() && end.result.back() == kEnd;
  if (complete) end.result.pop_back();
  end.how = !ended                                 ? ChildEnd::How::timed_out
            : WIFSIGNALED(status)                  ? ChildEnd::How::crashed
            : complete && WEXITSTATUS(status) == 0 ? ChildEnd::How::finished
                                                   : ChildEnd::How::exited;
  end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

size_t count_threads() { return support::list_folder("/proc/self/task", ErrorKind::system).size(); }

void record_call(const std::string& function, const std::string& detail) {
  CallRecord& record = call_record();
  std::snprintf(record.function, sizeof record.function, "%s", function.c_str());
  std::snprintf(record.detail, sizeof record.detail, "%s", detail.c_str());
  ++record.steps;
}

void clear_call_record() { record_call("", ""); }

}  // namespace tenon::validation
