#include "framework/distributed/launch/failure_monitor.h"

#include <torch/types.h>
#include <unistd.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "framework/distributed/launch/process_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::distributed {

namespace {

using namespace std::chrono_literals;

constexpr auto kPeriod = 250ms;
constexpr auto kLongestReply = 10s;  // of a rank that runs
constexpr auto kQueryPeriod = 20ms;  // while this rank waits for an answer

// Time limit for a heartbeat if timeout_s is shorter: a machine may be that busy.
constexpr auto kShortestSilence = 3s;

const std::string kFailure = "failure";
const std::string kReceivedKey = "acknowledged";
const std::string kQueryKey = "status request";
const std::string kHeartbeatKey = "heartbeat";

std::string answer_key(int64_t rank) { return "doing/" + std::to_string(rank); }
std::string process_key(int64_t rank) { return "process/" + std::to_string(rank); }

std::string name_of_rank(int64_t rank) { return "rank " + std::to_string(rank); }

}  // namespace

FailureMonitor::FailureMonitor(c10::intrusive_ptr<c10d::Store> store, const World& world,
                               std::chrono::milliseconds timeout, Activity activity)
    : store_(std::move(store)),
      world_(world),
      timeout_(timeout),
      activity_(std::move(activity)),
      ranks_(static_cast<size_t>(world.size)) {
  store_->set(process_key(world_.rank), std::to_string(getpid()));
  deadline_thread_ = std::thread([this] { run_deadlines(); });
  request_thread_ = std::thread([this] { run_requests(); });
}

FailureMonitor::~FailureMonitor() {
  const auto set = [this](bool& flag) {
    {
      const std::lock_guard lock(mutex_);
      flag = true;
    }
    changed_.notify_all();
  };
  set(ending_);
  request_thread_.join();
  set(is_over_);
  deadline_thread_.join();
}

void FailureMonitor::monitor_errors(std::function<std::string()> find_error) {
  const std::lock_guard lock(mutex_);
  find_error_ = std::move(find_error);
}

std::optional<std::string> FailureMonitor::communication_error() {
  const std::lock_guard lock(mutex_);
  return communication_error_;
}

void FailureMonitor::set_waiting(bool waiting) {
  const std::lock_guard lock(mutex_);
  if (waiting_) has_waited_ = Clock::now();
  waiting_ = waiting;
}

void FailureMonitor::report(const std::string& message) noexcept {
  std::unique_lock lock(mutex_);
  reported_ = message;
  if (!failed_at_) failed_at_ = Clock::now();
  changed_.notify_all();
  // If rank 0 has ended, and with it the store, the other ranks notice this themselves.
  changed_.wait_for(lock, kCauseTimeout, [this] { return failure_ || is_report_sent_ || has_store_ended_; });
}

void FailureMonitor::wait_until_received(std::chrono::milliseconds within) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [this] { return received_ >= world_.size || has_store_ended_; });
}

std::optional<std::string> FailureMonitor::first_failure(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [this] { return failure_.has_value() || has_store_ended_; });
  return failure_;
}

bool FailureMonitor::wait_for_rank0(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [this] { return ranks_[0].process || failure_ || has_store_ended_; });
  return ranks_[0].process.has_value();
}

std::string FailureMonitor::describe_rank() const {
  return name_of_rank(world_.rank) + " is " + (activity_.describe ? activity_.describe() : "busy");
}

std::string FailureMonitor::describe_silent(int64_t rank) const {
  const auto& process = ranks_[static_cast<size_t>(rank)].process;
  if (!process || !world_.is_one_machine()) return name_of_rank(rank) + " does not answer; it has ended or is stopped";
  const char state = read_process_state(*process);
  return name_of_rank(rank) + (has_ended(state) ? " has exited without an error message"
                                                : " does not answer; " + describe_process_state(state));
}

std::string FailureMonitor::describe_store() const {
  return world_.store_is_launchers ? "the store of the launcher" : "rank 0, which serves the store,";
}

// Without answers from a store that rank 0 serves, rank 0 is the missing rank unless this is rank 0.
std::string FailureMonitor::describe_silent_store() const {
  return world_.is_first() || world_.store_is_launchers ? describe_store() + " does not answer" : describe_silent(0);
}

// Returns whether a rank that has not replied runs. If the store does not answer, only rank 0 counts, which serves it.
// REQUIRES: the mutex is locked.
bool FailureMonitor::may_still_reply(bool is_store_silent) const {
  const auto runs = [this](int64_t rank, bool if_unknown) {
    const auto& process = ranks_[static_cast<size_t>(rank)].process;
    if (!process || !world_.is_one_machine()) return if_unknown;
    const char state = read_process_state(*process);
    return !is_stopped(state) && !has_ended(state);
  };
  if (is_store_silent) return world_.store_is_launchers || runs(0, /*if_unknown=*/true);
  for (int64_t rank = 0; rank < world_.size; ++rank)
    if (!ranks_[static_cast<size_t>(rank)].reply && rank != world_.rank && runs(rank, /*if_unknown=*/false))
      return true;
  return false;
}

std::string FailureMonitor::describe_missing(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  is_querying_ = true;
  const int64_t answers_before = answers_;
  changed_.notify_all();
  const auto has_replied = [this](const Rank& rank) {
    return rank.reply || &rank == &ranks_[static_cast<size_t>(world_.rank)];
  };
  const auto is_complete = [&] { return has_store_ended_ || std::ranges::all_of(ranks_, has_replied); };
  changed_.wait_for(lock, within, is_complete);
  // On a busy machine the store and the ranks may be slow. Without their replies, the wrong rank could be named.
  const auto limit = Clock::now() + kLongestReply;
  while (!is_complete() && !failure_ && may_still_reply(answers_ == answers_before) && Clock::now() < limit)
    changed_.wait_for(lock, kPeriod, is_complete);
  if (has_store_ended_) return describe_store() + " has exited without an error message";
  // Then the replies of the other ranks cannot be read.
  if (answers_ == answers_before) return describe_silent_store();
  std::string missing;
  for (int64_t rank = 0; rank < world_.size; ++rank) {
    const Rank& one = ranks_[static_cast<size_t>(rank)];
    const std::string reply = one.reply || rank == world_.rank ? one.reply.value_or("") : describe_silent(rank);
    if (!reply.empty()) missing += (missing.empty() ? "" : "; ") + reply;
  }
  return missing;
}

// ---- The thread that sends requests to the store -------------------------------------------------------------------

void FailureMonitor::run_requests() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    bool has_ended = false;
    try {
      send_requests();
    } catch (const std::exception&) {
      // The store has ended with rank 0. A rank that waits for rank 0 gets a connection error. Any other rank is ended
      // by the other thread.
      has_ended = true;
    }
    lock.lock();
    if (has_ended && !failed_at_) failed_at_ = Clock::now();
    has_store_ended_ = has_ended;
    ++answers_;
    unanswered_ = {};
    changed_.notify_all();
    const bool is_urgent = is_querying_ || !ranks_[0].process || (failure_ && received_ < world_.size);
    const bool has_report = !reported_.empty() && !is_report_sent_;
    changed_.wait_for(lock, is_urgent || has_report ? kQueryPeriod : kPeriod, [&] {
      return ending_ || (!is_urgent && is_querying_) || (!has_report && !reported_.empty() && !is_report_sent_);
    });
  }
}

void FailureMonitor::send_requests() {
  std::string report;
  bool waits = false, is_querying = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_report_sent_) report = reported_;
    waits = waiting_;
    is_querying = is_querying_;
  }
  const int64_t heartbeat = store_->add(kHeartbeatKey, world_.is_first() ? 1 : 0);
  if (!report.empty()) store_->compareSet(kFailure, "", report);
  std::optional<std::string> failure;
  if (store_->check({kFailure})) failure = store_->get_to_str(kFailure);
  const int64_t received = failure ? store_->add(kReceivedKey, has_acknowledged_ ? 0 : 1) : 0;
  has_acknowledged_ = failure.has_value();
  {
    const std::lock_guard lock(mutex_);
    if (heartbeat != heartbeat_) silent_ = {};
    if (!report.empty()) is_report_sent_ = true;
    if (failure && !failure_) fail(*failure);
    received_ = received;
  }
  heartbeat_ = heartbeat;
  changed_.notify_all();
  if (is_querying && !std::exchange(is_query_sent_, true)) store_->set(kQueryKey, std::string("1"));
  if (!has_replied_ && store_->check({kQueryKey})) {
    // A rank that is also waiting answers with an empty text.
    store_->set(answer_key(world_.rank), waits ? "" : describe_rank());
    has_replied_ = true;
  }
  read_ranks(is_querying);
}

// Always reads the process of rank 0: when rank 0 is stopped, its store no longer answers.
void FailureMonitor::read_ranks(bool is_querying) {
  for (int64_t number = 0; number < (is_querying ? world_.size : 1); ++number) {
    Rank rank;
    {
      const std::lock_guard lock(mutex_);
      rank = ranks_[static_cast<size_t>(number)];
    }
    if (is_querying && !rank.reply && store_->check({answer_key(number)}))
      rank.reply = store_->get_to_str(answer_key(number));
    if (!rank.reply && !rank.process && store_->check({process_key(number)}))
      rank.process = std::stoi(store_->get_to_str(process_key(number)));
    const std::lock_guard lock(mutex_);
    ranks_[static_cast<size_t>(number)] = std::move(rank);
  }
  changed_.notify_all();
}

// ---- The thread that measures times --------------------------------------------------------------------------------

void FailureMonitor::run_deadlines() {
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPeriod, [this] { return is_over_; })) {
    const auto now = Clock::now();
    // This process may also have been stopped, such as by Ctrl-Z. That time does not count.
    find_silence(std::min<Clock::duration>(now - std::exchange(last, now), 2 * kPeriod));
    lock.unlock();
    find_communication_error();
    find_overdue_call();
    exit_if_overdue();
    lock.lock();
  }
}

// REQUIRES: the mutex is locked.
void FailureMonitor::fail(const std::string& failure) {
  failure_ = failure;
  failed_at_ = Clock::now();
}

// REQUIRES: the mutex is locked.
void FailureMonitor::find_silence(Clock::duration passed) {
  silent_ += passed;
  unanswered_ += passed;
  if (failure_ || has_store_ended_ || silent_ < std::max<Clock::duration>(timeout_, kShortestSilence)) return;
  // Rank 0 counts up the heartbeat. If the store answered meanwhile, rank 0 is the one that is missing.
  const bool is_rank0_missing = !world_.is_first() && unanswered_ < silent_ / 2;
  fail(is_rank0_missing ? describe_silent(0) : describe_silent_store());
  changed_.notify_all();
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

// Other ranks do not notice a call that does not return if they are in such a call themselves. A call of the training
// thread may include a wait for other ranks.
void FailureMonitor::find_overdue_call() {
  bool includes_training_thread = false;
  {
    const std::lock_guard lock(mutex_);
    if (failed_at_) return;
    includes_training_thread = !waiting_ && Clock::now() - has_waited_ > timeout_;
  }
  const std::string call = activity_.find_overdue ? activity_.find_overdue(timeout_, includes_training_thread) : "";
  if (!call.empty())
    report(name_of_rank(world_.rank) + " is " + call +
           "; expected a return within distributed.timeout_s: raise it if the call merely takes long");
}

// Calls _exit(), because the training thread may hold any lock.
void FailureMonitor::exit_if_overdue() {
  const std::string here = name_of_rank(world_.rank) + " is ended: ";
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
      message = here + describe_store() + " has ended";
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
