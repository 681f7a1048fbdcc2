// A thread that monitors failures of other ranks while the training thread is busy or waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <c10/util/intrusive_ptr.h>

#include "framework/distributed/world.h"

namespace c10d {
class Store;
}

namespace tenon::distributed {

// The ranks write to the store: the first failure, and, on a status request, the activity of each rank. If the training
// thread does not end by itself within kGrace after a failure of another rank, this thread ends the process. The
// training thread may be stuck in a plugin or wait for a lost rank.
class FailureMonitor {
 public:
  static constexpr std::chrono::seconds kGrace{7};

  // Time limit for finding the cause of a failed collective.
  static constexpr std::chrono::seconds kCauseTimeout{2};

  // `store`: a separate connection. `describe`: describes the training thread. It is called on the monitor thread.
  FailureMonitor(c10::intrusive_ptr<c10d::Store> store, const World& world, std::function<std::string()> describe);
  ~FailureMonitor();
  FailureMonitor(const FailureMonitor&) = delete;
  FailureMonitor& operator=(const FailureMonitor&) = delete;

  // Also monitors the communication between devices. `find_error` returns a description of its error, or an empty text.
  // It is called on the monitor thread, a few times per second.
  void monitor_errors(std::function<std::string()> find_error);

  // Returns the error that find_error returned, or nothing. The cause may be a lost rank.
  std::optional<std::string> communication_error();

  // Called when the training thread starts or stops waiting for all ranks.
  void set_waiting(bool waiting);

  // Reports a failure of this rank or a missing rank to the others, unless another failure was reported before.
  void report(const std::string& message) noexcept;

  // Returns after all ranks have acknowledged the failure, or after `within`. The rank that serves the store must not
  // end earlier.
  void wait_until_received(std::chrono::milliseconds within) noexcept;

  // Returns the first failure if it becomes known within the time.
  std::optional<std::string> first_failure(std::chrono::milliseconds within);

  // Describes the activity of the ranks that do not wait, for a message about missing ranks. A rank that does not
  // answer has ended.
  std::string describe_missing(std::chrono::milliseconds within);

 private:
  void run();
  void poll();
  void find_communication_error();
  void exit_if_overdue();
  std::string describe_rank() const;

  const c10::intrusive_ptr<c10d::Store> store_;
  const World world_;
  const std::function<std::string()> describe_;
  std::mutex store_mutex_;  // a connection handles one request at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false;
  bool ending_ = false;
  std::string reported_;  // the failure reported by this rank
  bool answered_ = false;
  std::optional<std::string> failure_;  // "rank 2 has failed: ..."
  std::function<std::string()> find_error_;
  std::optional<std::string> communication_error_;
  std::optional<std::chrono::steady_clock::time_point> failed_at_;
  std::thread thread_;
};

}  // namespace tenon::distributed
