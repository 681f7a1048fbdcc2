#include "host/process/child_run.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "framework/distributed/launch/rank_process.h"

namespace tenon::host {

namespace {

using Clock = std::chrono::steady_clock;

// A stop request often arrives twice: timeout(1) and shells signal the process and then its whole group.
constexpr std::chrono::milliseconds kSameRequest{1000};

constexpr size_t kMaxErrors = 64 << 10;

class ChildRun {
 public:
  ChildRun(distributed::RankProcess process, distributed::SignalInbox& signals)
      : process_(std::move(process)), signals_(signals) {}
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;
  ~ChildRun() {
    if (has_ended_) return;
    kill(process_.pid, SIGKILL);
    while (waitpid(process_.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  ChildEnd wait_for_end() {
    while (!has_ended_) {
      wait();
      read_output();
      while (const auto signal = signals_.take()) obey(*signal);
      note_end();
    }
    read_output();
    return end_;
  }

 private:
  // Waits until the child writes or ends, or a signal arrives.
  void wait() {
    std::array<pollfd, 3> files{{{signals_.descriptor(), POLLIN, 0},
                                 {process_.output.number(), POLLIN, 0},
                                 {process_.errors.number(), POLLIN, 0}}};
    // If an older handler of this process receives the SIGCHLD, the delay is at most one second.
    poll(files.data(), files.size(), 1000);
  }

  void read_output() {
    std::string dropped;
    read_pipe(process_.output, dropped);
    read_pipe(process_.errors, end_.errors);
  }

  static void read_pipe(support::FileDescriptor& pipe, std::string& text) {
    std::array<char, 16 << 10> bytes;
    while (pipe.is_open()) {
      const ssize_t length = read(pipe.number(), bytes.data(), bytes.size());
      if (length < 0 && errno == EINTR) continue;
      if (length < 0 && errno == EAGAIN) return;
      if (length <= 0) {
        pipe.close();
        return;
      }
      text.append(bytes.data(), static_cast<size_t>(length));
      if (text.size() > kMaxErrors) text.erase(0, text.size() - kMaxErrors);
    }
  }

  void obey(const distributed::ReceivedSignal& signal) {
    if (signal.number == SIGCHLD) return;
    const Clock::time_point now = Clock::now();
    if (end_.requested == 0) {
      end_.requested = signal.number;
      requested_at_ = now;
      if (!signal.is_from_terminal) kill(process_.pid, signal.number);
    } else if (now - requested_at_ >= kSameRequest) {
      kill(process_.pid, SIGKILL);
    }
  }

  void note_end() {
    int status = 0;
    if (waitpid(process_.pid, &status, WNOHANG) != process_.pid) return;
    has_ended_ = true;
    end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }

  distributed::RankProcess process_;
  distributed::SignalInbox& signals_;
  bool has_ended_ = false;
  ChildEnd end_;
  Clock::time_point requested_at_;
};

}  // namespace

ChildEnd run_child(const std::vector<std::string>& arguments, distributed::SignalInbox& signals) {
  distributed::RankStart start;
  start.arguments = arguments;
  start.output = distributed::RankStart::Output::piped;
  return ChildRun(distributed::start_rank(start, signals), signals).wait_for_end();
}

}  // namespace tenon::host
