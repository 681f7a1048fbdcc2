// A thread that hears of other ranks' failures while the training thread is busy or waits.
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

// The ranks write into the store: who failed first, and, when a rank asks why another does not come, what each is
// doing. A rank whose training thread does not end by itself kGrace after another failed, is ended here: it may stand
// in a plugin, or wait for who is gone.
class Watch {
 public:
  static constexpr std::chrono::seconds kGrace{7};

  // `store`: a connection of its own. `describe`: what the training thread is doing; called on the watch's thread.
  Watch(c10::intrusive_ptr<c10d::Store> store, const World& world, std::function<std::string()> describe);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The training thread is about to wait for all ranks, or no longer does.
  void set_waiting(bool waiting);

  // Tells the others of a failure, of this rank or of one that does not come, unless another was told before.
  void tell(const std::string& message) noexcept;

  // Returns when all ranks have heard of the failure, or after `within`: who serves the store must not leave sooner.
  void wait_until_heard(std::chrono::milliseconds within) noexcept;

  // What failed first, if it is known within the time.
  std::optional<std::string> first_failure(std::chrono::milliseconds within);

  // What the ranks that do not wait are doing: for a message about a rank that did not come. One that does not answer
  // has ended.
  std::string describe_missing(std::chrono::milliseconds within);

 private:
  void run();
  void look();
  void end_if_overdue();
  std::string describe_here() const;

  const c10::intrusive_ptr<c10d::Store> store_;
  const World world_;
  const std::function<std::string()> describe_;
  std::mutex store_mutex_;  // a connection serves one request at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false;
  bool ending_ = false;
  std::string told_;  // of this rank's own failure
  bool answered_ = false;
  std::optional<std::string> failure_;  // "rank 2 has failed: ..."
  std::optional<std::chrono::steady_clock::time_point> failed_at_;
  std::thread thread_;
};

}  // namespace tenon::distributed
