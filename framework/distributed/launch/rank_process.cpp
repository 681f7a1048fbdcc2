#include "framework/distributed/launch/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw support::Error(support::ErrorKind::system, "cannot start a process of the run: {}: {}", what,
                       std::strerror(error));
}

// Returns the path of this program, which ps also shows. If the file was replaced, returns a link to the running
// program.
std::string find_this_program() {
  const std::string self = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(self, error);
  struct stat running {};
  struct stat there {};
  const bool is_same = !error && stat(self.c_str(), &running) == 0 && stat(path.c_str(), &there) == 0 &&
                       running.st_dev == there.st_dev && running.st_ino == there.st_ino;
  return is_same ? path.string() : self;
}

std::vector<std::string> make_environment(const std::vector<std::string>& settings) {
  std::vector<std::string> environment = settings;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const auto sets_it = [&](const std::string& setting) { return setting.starts_with(name); };
    if (std::ranges::none_of(settings, sets_it)) environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> make_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  support::FileDescriptor from;
  support::FileDescriptor to;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) refuse("cannot create a pipe", errno);
  return {support::FileDescriptor(ends[0]), support::FileDescriptor(ends[1])};
}

// The data of the child, created before the fork: between fork and exec the child must not allocate memory.
struct Child {
  std::string program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  pid_t parent;
  int listen_descriptor;
  int output;  // -1: inherited
  int errors;
  int report;  // pipe for the error if exec fails
  sigset_t mask;
};

bool take_output(const Child& child) {
  if (child.output < 0) return true;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(child.output, STDOUT_FILENO) >= 0 &&
         dup2(child.errors, STDERR_FILENO) >= 0;
}

[[noreturn]] void become_rank(const Child& child, const SignalInbox& signals) {
  signals.restore();
  std::signal(SIGUSR1, SIG_IGN);  // ignored until the program installs its handler
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before prctl() was called.
  if (getppid() != child.parent) _exit(1);
  const bool keeps_socket = child.listen_descriptor < 0 || fcntl(child.listen_descriptor, F_SETFD, 0) == 0;
  if (keeps_socket && take_output(child)) {
    sigprocmask(SIG_SETMASK, &child.mask, nullptr);
    execve(child.program.c_str(), child.arguments.data(), child.environment.data());
  }
  const int error = errno;
  if (write(child.report, &error, sizeof error) < 0) _exit(2);
  _exit(1);
}

// Signals are blocked during the fork. Otherwise the handlers of the parent would run in the child.
pid_t fork_child(Child& child, const SignalInbox& signals) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &child.mask);
  const pid_t pid = fork();
  if (pid == 0) become_rank(child, signals);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &child.mask, nullptr);
  if (pid < 0) refuse("fork", error);
  return pid;
}

}  // namespace

RankProcess start_rank(const RankStart& start, const SignalInbox& signals) {
  const std::vector<std::string> environment = make_environment(start.settings);
  Pipe output, errors, report = make_pipe();
  if (start.output == RankStart::Output::piped) {
    output = make_pipe();
    errors = make_pipe();
    for (const Pipe* pipe : {&output, &errors}) fcntl(pipe->from.number(), F_SETFL, O_NONBLOCK);
  }
  Child child{find_this_program(),
              make_pointers(start.arguments),
              make_pointers(environment),
              getpid(),
              start.listen_descriptor,
              output.to.number(),
              errors.to.number(),
              report.to.number(),
              {}};
  RankProcess rank;
  rank.pid = fork_child(child, signals);
  rank.output = std::move(output.from);
  rank.errors = std::move(errors.from);
  report.to.close();
  int error = 0;
  ssize_t length;
  // The read ends when exec succeeds, which closes the pipe.
  while ((length = read(report.from.number(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (length > 0) refuse(child.program, error);
  return rank;
}

}  // namespace tenon::distributed
