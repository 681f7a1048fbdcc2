#include "framework/distributed/launch/launch_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "framework/distributed/launch/loopback_socket.h"
#include "framework/distributed/launch/process_state.h"
#include "framework/distributed/launch/rank_output.h"
#include "framework/distributed/launch/rank_process.h"
#include "framework/distributed/launch/signal_inbox.h"
#include "framework/distributed/launch/world.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRankLost = static_cast<int>(support::ErrorKind::rank_lost);
constexpr int kSignalled = 128;

// How a process ended.
struct RankEnd {
  int64_t rank = 0;
  int exit_code = 0;  // valid if no signal ended the process
  int signal = 0;     // signal that ended the process; 0: none
  bool was_ended_by_launcher = false;
  char state = 0;  // state of the process when the launcher ended it, see process_state.h
};

bool lost_other_rank(const RankEnd& end) { return end.signal == 0 && end.exit_code == kRankLost; }

bool was_stopped(const RankEnd& end) { return end.was_ended_by_launcher && is_stopped(end.state); }

// Recognises 130, 143 and so on: the exit codes of a host that was stopped by a signal.
bool stopped_in_order(const RankEnd& end) {
  return end.signal == 0 && (end.exit_code == kSignalled + SIGINT || end.exit_code == kSignalled + SIGTERM ||
                             end.exit_code == kSignalled + SIGHUP);
}

std::string name_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return fmt::format("{} (signal {})", name ? std::string("SIG") + name : "a signal", signal);
}

std::string describe(const RankEnd& end) {
  const std::string rank = "rank " + std::to_string(end.rank);
  if (was_stopped(end)) return rank + " does not answer; " + describe_process_state(end.state) + ", and was ended";
  if (end.signal == SIGKILL)
    return rank + " was ended by " + name_signal(end.signal) +
           ", which the kernel also sends when it runs out of memory";
  if (end.signal != 0) return rank + " was ended by " + name_signal(end.signal);
  if (lost_other_rank(end))
    return rank + " ended because a rank did not answer or was lost (exit code 6), see its message";
  return rank + " ended with exit code " + std::to_string(end.exit_code);
}

// Describes which of the other ranks ended by themselves and which ones the launcher killed.
std::string describe_others(const std::vector<RankEnd>& ends, const RankEnd& cause) {
  const size_t others = ends.size() - 1;
  if (others == 0) return "";
  std::vector<int64_t> ended;
  for (const RankEnd& end : ends)
    if (end.was_ended_by_launcher && end.rank != cause.rank) ended.push_back(end.rank);
  if (ended.empty()) return others == 1 ? "; the other ended by itself" : "; the others ended by themselves";
  if (ended.size() == others) return others == 1 ? "; the other was ended" : "; the others were ended";
  std::ranges::sort(ended);
  std::string names;
  for (size_t i = 0; i < ended.size(); ++i)
    names += (i == 0 ? "" : i + 1 == ended.size() ? " and " : ", ") + std::to_string(ended[i]);
  return ended.size() == 1 ? fmt::format("; rank {}, which did not end by itself, was ended", names)
                           : fmt::format("; ranks {}, which did not end by themselves, were ended", names);
}

template <class Is>
const RankEnd* find_first(const std::vector<RankEnd>& ends, const Is& is) {
  const auto found = std::ranges::find_if(ends, is);
  return found == ends.end() ? nullptr : &*found;
}

// Returns whether the process finished or stopped on request.
bool ended_in_order(const RankEnd& end) { return (end.signal == 0 && end.exit_code == 0) || stopped_in_order(end); }

// A process that lost another one (exit code 6) is not the cause if another process failed differently, or was stopped
// so that it did not answer. `ends`: the ends of all processes in order of time. `requested`: signal that requested
// this process to stop; 0: none.
LaunchReport find_first_cause(const std::vector<RankEnd>& ends, int requested) {
  const RankEnd* const failed = find_first(ends, [&](const RankEnd& end) {
    const bool was_requested = end.signal != 0 && end.signal == requested;
    return !ended_in_order(end) && !lost_other_rank(end) && !end.was_ended_by_launcher && !was_requested;
  });
  // Every process has printed its error.
  const auto ended_like_first = [&](const RankEnd& end) {
    return end.signal == 0 && !end.was_ended_by_launcher && end.exit_code == ends.front().exit_code;
  };
  if (failed && ends.size() > 1 && std::ranges::all_of(ends, ended_like_first)) return {failed->exit_code, ""};
  const auto explain = [&](const RankEnd& cause) { return describe(cause) + describe_others(ends, cause); };
  if (failed) return {failed->signal != 0 ? kRankLost : failed->exit_code, explain(*failed)};
  const bool all_finished =
      std::ranges::all_of(ends, [](const RankEnd& end) { return end.signal == 0 && end.exit_code == 0; });
  const RankEnd* const stopped_process = find_first(ends, was_stopped);
  if (requested != 0)
    return {all_finished ? 0 : kSignalled + requested, stopped_process ? explain(*stopped_process) : ""};
  if (stopped_process) return {kRankLost, explain(*stopped_process)};
  const RankEnd* const stopped = find_first(ends, stopped_in_order);
  const RankEnd* const lost = find_first(ends, lost_other_rank);
  if (stopped) return {stopped->exit_code, lost ? explain(*stopped) : ""};
  if (lost) return {kRankLost, explain(*lost)};
  return {};
}

// A stop request often arrives twice: timeout(1) and shells signal the process and then its whole group.
constexpr std::chrono::milliseconds kSameRequest{1000};

// Maximum time without progress when the last output of the ranks is written.
constexpr int kOutputPatienceMs = 2000;

std::string set(const char* name, const std::string& value) { return std::string(name) + "=" + value; }

RankStart describe_rank(const LaunchRequest& request, int64_t rank, const LoopbackSocket& socket) {
  RankStart start;
  start.arguments = request.arguments;
  start.settings = {set(variables::kLauncherPid, std::to_string(getpid())),
                    set(variables::kRank, std::to_string(rank)),
                    set(variables::kWorldSize, std::to_string(request.processes)),
                    set(variables::kMasterAddress, "127.0.0.1"),
                    set(variables::kMasterPort, std::to_string(socket.port)),
                    set(variables::kListenFd, rank == 0 ? std::to_string(socket.descriptor.number()) : ""),
                    set(variables::kAttempt, std::to_string(request.attempt)),
                    set(variables::kReportsCheckpoints, request.on_checkpoint ? "1" : "")};
  if (request.omp_threads > 0) start.settings.push_back(set("OMP_NUM_THREADS", std::to_string(request.omp_threads)));
  if (rank == 0) start.listen_descriptor = socket.descriptor.number();
  start.output = rank == 0 ? RankStart::Output::inherited : RankStart::Output::piped;
  return start;
}

// If standard input, output or error is closed, a pipe of the launcher would get its number.
void open_missing_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

// Standard output or standard error of a rank.
struct Stream {
  support::FileDescriptor from;
  PrefixedLines lines;
  OutputBacklog* to;
};

// The running rank processes. The destructor kills the remaining ones.
class Ranks {
 public:
  ~Ranks() {
    end_all();
    for (const Running& one : running_)
      while (waitpid(one.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
  }

  void add(int64_t rank, pid_t pid) { running_.push_back({rank, pid}); }
  bool is_empty() const { return running_.empty(); }

  void pass_on(int signal) const {
    for (const Running& one : running_) kill(one.pid, signal);
  }

  void pass_on_to_first(int signal) const {
    for (const Running& one : running_)
      if (one.rank == 0) kill(one.pid, signal);
  }

  void end_all() {
    for (Running& one : running_) end(one, read_process_state(one.pid));
  }

  // Ends the stopped ranks. SIGKILL ends them too, other signals only arrive when they continue.
  void end_stopped() {
    for (Running& one : running_)
      if (const char state = read_process_state(one.pid); is_stopped(state)) end(one, state);
  }

  // Returns the ranks that have ended since the last call.
  std::vector<RankEnd> take_ended() {
    std::vector<RankEnd> ended;
    std::erase_if(running_, [&](const Running& one) {
      int status = 0;
      if (waitpid(one.pid, &status, WNOHANG) != one.pid) return false;
      RankEnd end;
      end.rank = one.rank;
      end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      // The rank may have ended by itself just before the kill.
      end.was_ended_by_launcher = one.state != 0 && end.signal == SIGKILL;
      end.state = one.state;
      ended.push_back(end);
      return true;
    });
    return ended;
  }

 private:
  struct Running {
    int64_t rank;
    pid_t pid;
    char state = 0;  // when this process ended it; 0: not ended
  };

  static void end(Running& one, char state) {
    if (one.state == 0) one.state = state;
    kill(one.pid, SIGKILL);
  }

  std::vector<Running> running_;
};

class Launch {
 public:
  explicit Launch(const LaunchRequest& request) : request_(request) {
    LoopbackSocket socket = listen_on_loopback();
    for (int64_t rank = 0; rank < request.processes; ++rank) {
      RankProcess process = start_rank(describe_rank(request, rank, socket), signals_);
      ranks_.add(rank, process.pid);
      // From now on only rank 0 has the port.
      if (rank == 0) socket.descriptor.close();
      const std::string prefix = "[rank " + std::to_string(rank) + "] ";
      if (process.output.is_open()) streams_.push_back({std::move(process.output), PrefixedLines(prefix), &output_});
      if (process.errors.is_open()) streams_.push_back({std::move(process.errors), PrefixedLines(prefix), &errors_});
    }
  }

  LaunchReport run() {
    while (!ranks_.is_empty()) {
      wait();
      for (Stream& stream : streams_) read_stream(stream);
      while (const auto signal = signals_.take()) obey(*signal);
      note_ended();
      // A stopped rank can neither notice the failure nor save anything.
      if (has_failed_) ranks_.end_stopped();
      if (deadline_ && Clock::now() >= *deadline_) {
        ranks_.end_all();
        deadline_.reset();
      }
    }
    finish_output();
    LaunchReport report = find_first_cause(ends_, requested_);
    report.was_stopped_to_restart = restarts_ && requested_ == 0 && report.exit_code == 128 + SIGTERM;
    return report;
  }

 private:
  // Waits until a rank writes or ends, a signal arrives, an output can be written, or the deadline is reached.
  void wait() {
    std::vector<pollfd> files{{signals_.descriptor(), POLLIN, 0}};
    for (const Stream& stream : streams_) files.push_back({stream.from.number(), POLLIN, 0});
    std::vector<OutputBacklog*> waiting;
    for (OutputBacklog* const backlog : {&output_, &errors_}) {
      if (backlog->is_empty()) continue;
      files.push_back({backlog->descriptor(), POLLOUT, 0});
      waiting.push_back(backlog);
    }
    // If an older handler of this process receives the SIGCHLD, the delay is at most one second.
    int limit_ms = 1000;
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
      limit_ms = static_cast<int>(std::clamp<int64_t>(left, 0, limit_ms));
    }
    if (poll(files.data(), files.size(), limit_ms) <= 0) return;
    const size_t first = 1 + streams_.size();
    for (size_t i = first; i < files.size(); ++i)
      if (files[i].revents != 0) waiting[i - first]->write_some();
  }

  // Reads at most the capacity of a pipe, so that a rank that writes all the time does not block the others. After the
  // end of a rank, one of its child processes may still hold the pipe open.
  static void read_stream(Stream& stream) {
    std::array<char, 64 << 10> bytes;
    for (int pieces = 0; pieces < 16 && stream.from.is_open(); ++pieces) {
      const ssize_t length = read(stream.from.number(), bytes.data(), bytes.size());
      if (length < 0 && errno == EINTR) continue;
      if (length < 0 && errno == EAGAIN) return;
      if (length > 0) {
        stream.to->add(stream.lines.add({bytes.data(), static_cast<size_t>(length)}));
        continue;
      }
      stream.to->add(stream.lines.finish());
      stream.from.close();
    }
  }

  void obey(const ReceivedSignal& signal) {
    if (signal.number == SIGCHLD) return;
    if (signal.number == SIGUSR1) return ranks_.pass_on_to_first(SIGUSR1);  // rank 0 forwards the request
    if (signal.number == SIGUSR2) return note_checkpoint();
    const Clock::time_point now = Clock::now();
    if (requested_ != 0) {
      if (now - requested_at_ >= kSameRequest) ranks_.end_all();
      return;
    }
    requested_ = signal.number;
    requested_at_ = now;
    // To a rank that is stopping, another signal means to end at once.
    if (!signal.is_from_terminal && !restarts_) ranks_.pass_on(signal.number);
    ranks_.pass_on(SIGCONT);  // a stopped rank receives the request when it continues, and the others wait for it
  }

  void note_checkpoint() {
    if (!request_.on_checkpoint || restarts_ || has_failed_ || requested_ != 0) return;
    restarts_ = request_.on_checkpoint();
    if (restarts_) ranks_.pass_on(SIGTERM);
  }

  void note_ended() {
    for (const RankEnd& end : ranks_.take_ended()) {
      ends_.push_back(end);
      if (ended_in_order(end) || has_failed_) continue;
      has_failed_ = true;
      deadline_ = Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request_.patience_s));
    }
  }

  void finish_output() {
    for (Stream& stream : streams_) {
      read_stream(stream);
      stream.to->add(stream.lines.finish());
    }
    output_.write_rest(kOutputPatienceMs);
    errors_.write_rest(kOutputPatienceMs);
  }

  const LaunchRequest& request_;
  SignalInbox signals_;
  OutputBacklog output_{STDOUT_FILENO};
  OutputBacklog errors_{STDERR_FILENO};
  std::vector<Stream> streams_;
  std::vector<RankEnd> ends_;  // in order of time
  bool has_failed_ = false;
  bool restarts_ = false;                      // on_checkpoint requested it
  std::optional<Clock::time_point> deadline_;  // when the remaining ranks are killed
  int requested_ = 0;                          // the signal to stop; 0: none
  Clock::time_point requested_at_;
  Ranks ranks_;
};

}  // namespace

LaunchReport launch_ranks(const LaunchRequest& request) {
  TENON_CHECK(request.processes >= 1, request.processes << " processes");
  open_missing_streams();
  std::fflush(nullptr);  // otherwise buffered text would appear after the output of the ranks
  return Launch(request).run();
}

void report_checkpoint() { kill(getppid(), SIGUSR2); }

}  // namespace tenon::distributed
