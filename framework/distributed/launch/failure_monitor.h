// Two threads that monitor failures of other ranks while the training thread is busy or waits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "framework/distributed/launch/world.h"

namespace c10d {
class Store;
}

namespace tenon::distributed {

// The ranks write to the store: the first failure, and, on a status request, the activity of each rank. Rank 0 also
// counts up a heartbeat there. If it stays the same for the time limit, rank 0 or the store is stopped, which is a
// failure of rank 0. If the training thread does not end by itself within kGrace after a failure of another rank, this
// class ends the process. The training thread may be stuck in a plugin or wait for a lost rank.
//
// A request to the store of a stopped process never returns, and c10d's time limits do not cover that. So one thread
// sends all requests, and the other one measures the time. No function here waits for the store without a limit.
class FailureMonitor {
 public:
  static constexpr std::chrono::seconds kGrace{7};

  // Time limit for finding the cause of a failed collective.
  static constexpr std::chrono::seconds kCauseTimeout{2};

  struct Activity {
    // Describes the training thread: "in model x, function forward". Empty: "busy".
    std::function<std::string()> describe;
    // Describes a call of a plugin that has lasted longer than the time, or returns an empty text. The training thread
    // is left out if it has waited for other ranks meanwhile.
    std::function<std::string(std::chrono::milliseconds longer_than, bool includes_training_thread)> find_overdue;
  };

  // `store`: a separate connection. `timeout`: time limit for the heartbeat of rank 0 and for a call of a plugin.
  // `activity`: called on the threads of the monitor.
  FailureMonitor(c10::intrusive_ptr<c10d::Store> store, const World& world, std::chrono::milliseconds timeout,
                 Activity activity);
  // Ends the process if the store does not answer.
  ~FailureMonitor();
  FailureMonitor(const FailureMonitor&) = delete;
  FailureMonitor& operator=(const FailureMonitor&) = delete;

  // Returns whether rank 0 has created its monitor within the time. From then on its process is known.
  bool wait_for_rank0(std::chrono::milliseconds within);

  // Also monitors the communication between devices. `find_error` returns a description of its error, or an empty text.
  // It is called on a monitor thread, a few times per second.
  void monitor_errors(std::function<std::string()> find_error);

  // Returns the error that find_error returned, or nothing. The cause may be a lost rank.
  std::optional<std::string> communication_error();

  // Called when the training thread starts or stops waiting for all ranks.
  void set_waiting(bool waiting);

  // Reports a failure of this rank or a missing rank to the others, unless another failure was reported before. Returns
  // after kCauseTimeout if the store does not answer.
  void report(const std::string& message) noexcept;

  // Returns after all ranks have acknowledged the failure, or after `within`. The rank that serves the store must not
  // end earlier.
  void wait_until_received(std::chrono::milliseconds within) noexcept;

  // Returns the first failure if it becomes known within the time.
  std::optional<std::string> first_failure(std::chrono::milliseconds within);

  // Describes the activity of the ranks that do not wait, for a message about missing ranks. A rank that does not
  // reply has ended or is stopped. Waits 10 s longer for ranks that run, and for a store that does not answer.
  std::string describe_missing(std::chrono::milliseconds within);

 private:
  using Clock = std::chrono::steady_clock;

  // What is known about a rank.
  struct Rank {
    std::optional<pid_t> process;      // known if it runs on this machine
    std::optional<std::string> reply;  // to the status request; empty: it also waits
  };

  void run_requests();
  void send_requests();
  void read_ranks(bool is_querying);
  void run_deadlines();
  void find_communication_error();
  void find_silence(Clock::duration passed);
  void find_overdue_call();
  void exit_if_overdue();
  void fail(const std::string& failure);
  std::string describe_rank() const;
  std::string describe_silent(int64_t rank) const;
  bool may_still_reply(bool is_store_silent) const;
  std::string describe_store() const;
  std::string describe_silent_store() const;

  const c10::intrusive_ptr<c10d::Store> store_;  // only request_thread_ uses it
  const World world_;
  const std::chrono::milliseconds timeout_;
  const Activity activity_;

  // Used only by request_thread_.
  int64_t heartbeat_ = 0;
  bool is_query_sent_ = false;
  bool has_acknowledged_ = false;
  bool has_replied_ = false;

  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  bool waiting_ = false;
  Clock::time_point has_waited_{};  // end of the last wait for all ranks
  bool ending_ = false;
  bool is_over_ = false;  // request_thread_ has ended
  bool has_store_ended_ = false;
  int64_t answers_ = 0;           // of the store
  bool is_querying_ = false;      // the ranks are requested to reply
  Clock::duration silent_{};      // time since the last heartbeat
  Clock::duration unanswered_{};  // time since the last answer of the store
  std::string reported_;          // the failure reported by this rank
  bool is_report_sent_ = false;
  int64_t received_ = 0;  // ranks that have acknowledged the failure
  std::vector<Rank> ranks_;
  std::optional<std::string> failure_;  // "rank 2 has failed: ..."
  std::function<std::string()> find_error_;
  std::optional<std::string> communication_error_;
  std::optional<Clock::time_point> failed_at_;

  std::thread deadline_thread_;
  std::thread request_thread_;
};

}  // namespace tenon::distributed
