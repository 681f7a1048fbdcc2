#include "framework/distributed/failure_monitor.h"

#include <torch/types.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "framework/support/error.h"
#include "framework/support/log.h"

namespace tenon::distributed {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPeriod = 250ms;
const std::string kFailure = "failure";
const std::string kReceivedKey = "acknowledged";
const std::string kQueryKey = "status request";

std::string answer_key(int64_t rank) { return "doing/" + std::to_string(rank); }

}  // namespace

FailureMonitor::FailureMonitor(c10::intrusive_ptr<c10d::Store> store, const World& world,
                               std::function<std::string()> describe)
    : store_(std::move(store)), world_(world), describe_(std::move(describe)), thread_([this] { run(); }) {}

FailureMonitor::~FailureMonitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void FailureMonitor::monitor_errors(std::function<std::string()> find_error) {
  const std::lock_guard lock(mutex_);
  find_error_ = std::move(find_error);
}

std::optional<std::string> FailureMonitor::communication_error() {
  const std::lock_guard lock(mutex_);
  return communication_error_;
}

void FailureMonitor::find_communication_error() {
  std::function<std::string()> find_error;
  {
    const std::lock_guard lock(mutex_);
    if (communication_error_) return;
    find_error = find_error_;
  }
  const std::string error = find_error ? find_error() : "";
  if (error.empty()) return;
  const std::lock_guard lock(mutex_);
  communication_error_ = error;
  if (!failed_at_) failed_at_ = Clock::now();
}

void FailureMonitor::set_waiting(bool waiting) {
  const std::lock_guard lock(mutex_);
  waiting_ = waiting;
}

void FailureMonitor::report(const std::string& message) noexcept {
  {
    const std::lock_guard lock(mutex_);
    reported_ = message;
    if (!failed_at_) failed_at_ = Clock::now();
    if (failure_) return;
  }
  try {
    const std::lock_guard lock(store_mutex_);
    store_->compareSet(kFailure, "", message);
  } catch (const std::exception&) {
    // Rank 0 has ended, and with it the store. The other ranks notice this themselves.
  }
}

void FailureMonitor::wait_until_received(std::chrono::milliseconds within) noexcept {
  try {
    for (const auto end = Clock::now() + within; Clock::now() < end; std::this_thread::sleep_for(20ms)) {
      const std::lock_guard lock(store_mutex_);
      if (store_->add(kReceivedKey, 0) >= world_.size) return;
    }
  } catch (const std::exception&) {
    // The store is gone, so that no rank can acknowledge the failure.
  }
}

std::optional<std::string> FailureMonitor::first_failure(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [this] { return failure_.has_value(); });
  return failure_;
}

std::string FailureMonitor::describe_rank() const {
  return "rank " + std::to_string(world_.rank) + " is " + (describe_ ? describe_() : "busy");
}

std::string FailureMonitor::describe_missing(std::chrono::milliseconds within) {
  const auto end = Clock::now() + within;
  std::string missing;
  for (int64_t rank = 0; rank < world_.size; ++rank) {
    if (rank == world_.rank) continue;
    std::string reply = "rank " + std::to_string(rank) + " has exited without an error message";
    try {
      {
        const std::lock_guard lock(store_mutex_);
        store_->set(kQueryKey, std::string("1"));
      }
      do {
        std::this_thread::sleep_for(50ms);
        const std::lock_guard lock(store_mutex_);
        if (!store_->check({answer_key(rank)})) continue;
        reply = store_->get_to_str(answer_key(rank));
        break;
      } while (Clock::now() < end);
    } catch (const std::exception&) {
      return "rank 0, which serves the store, has exited without an error message";
    }
    if (!reply.empty()) missing += (missing.empty() ? "" : "; ") + reply;
  }
  return missing;
}

void FailureMonitor::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPeriod, [this] { return ending_; })) {
    lock.unlock();
    find_communication_error();
    try {
      poll();
    } catch (const std::exception&) {
      // The store has ended with rank 0. A rank that waits for rank 0 gets a connection error. Any other rank is ended
      // here.
      const std::lock_guard changing(mutex_);
      if (!failed_at_) failed_at_ = Clock::now();
    }
    exit_if_overdue();
    lock.lock();
  }
}

void FailureMonitor::poll() {
  std::optional<std::string> failure;
  bool is_queried = false;
  {
    const std::lock_guard lock(store_mutex_);
    if (store_->check({kFailure})) failure = store_->get_to_str(kFailure);
    is_queried = store_->check({kQueryKey});
  }
  bool waits = false;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = failure && !failure_;
    if (is_new) {
      failure_ = failure;
      failed_at_ = Clock::now();
    }
    waits = waiting_;
  }
  if (is_new) {
    changed_.notify_all();
    const std::lock_guard lock(store_mutex_);
    store_->add(kReceivedKey, 1);
  }
  if (!is_queried || answered_) return;
  // A rank that is also waiting answers with an empty text.
  const std::string reply = waits ? "" : describe_rank();
  const std::lock_guard lock(store_mutex_);
  store_->set(answer_key(world_.rank), reply);
  answered_ = true;
}

// Calls _exit(), because the training thread may hold any lock.
void FailureMonitor::exit_if_overdue() {
  const std::string here = "rank " + std::to_string(world_.rank) + " is ended: ";
  std::string message, error;
  {
    const std::lock_guard lock(mutex_);
    if (!failed_at_ || Clock::now() - *failed_at_ < kGrace) return;
    if (!reported_.empty())
      message = reported_;
    else if (failure_)
      message = here + *failure_;
    else if (communication_error_)
      error = *communication_error_;
    else
      message = here + "rank 0 has ended";
  }
  if (!error.empty()) {
    // The training thread waits for the device, so that only this thread can find the cause.
    const std::string missing = describe_missing(kCauseTimeout);
    message = here + (missing.empty() ? error : missing + " (" + error + ")");
    report(message);
  }
  support::log_error(message);
  support::flush_log();
  _exit(static_cast<int>(support::ErrorKind::rank_lost));
}

}  // namespace tenon::distributed
