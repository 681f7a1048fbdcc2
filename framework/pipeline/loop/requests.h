// The requests to stop, save, evaluate and log: from callbacks, from signals and from other ranks.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/state/events.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

enum class Request : size_t { stop, save, evaluate, log, count };

// Requests by signals, set by their handlers.
struct SignalRequests {
  const std::atomic<int>& stop;  // the number of the signal that requested a stop; 0: none
  std::atomic<bool>& save;       // requests a checkpoint; cleared when one is started
};

// What finish_sync() adds up.
struct SyncedStep {
  int64_t samples_of_all_ranks;
};

struct StopRequest {
  int signal;  // 0: none
  std::string reason;
};

// With several ranks, every rank acts on the combined requests of all ranks. They are sent while a step runs; requests
// made after start_sync() belong to the next step. A single process reads its requests when it acts on them.
class Requests {
 public:
  // Both must outlive this object. `clock`: the seconds since run_start on this rank.
  Requests(Training& training, const SignalRequests& signals, std::function<double()> clock)
      : training_(training), group_(*training.group), signals_(signals), clock_(std::move(clock)) {}

  // The requests of this rank's callbacks that have not been sent.
  CallbackRequests& of_callbacks() { return callbacks_; }

  // Sends this rank's requests, its time and the number of its samples in the step.
  void start_sync(int64_t samples);
  // Waits for the other ranks and replaces the combined requests.
  SyncedStep finish_sync();
  // Sends and waits, and keeps the combined requests that were not taken. Use it at points where all ranks synchronise
  // anyway.
  void sync_now();
  // The seconds since run_start. With several ranks, of rank 0 when they last synchronised.
  double time_s() const { return group_.is_single() ? clock_() : time_s_; }
  // The sum of `count` over all ranks.
  int64_t add_up(int64_t count);

  // The requests to act on.
  bool has(Request request) const { return (group_.is_single() ? local() : combined_)[static_cast<size_t>(request)]; }
  int signal() const { return group_.is_single() ? local_signal() : signal_; }  // that requested a stop; 0: none
  std::optional<StopRequest> stop() const;

  // Removes a request. Call it when the action begins.
  void take(Request request);
  // Removes the values that callbacks logged, and returns them.
  MetricValues take_scalars();

  // Whether a signal has requested a stop of this rank.
  bool has_local_signal() const { return local_signal() != 0; }

  // For resuming. The reason for a stop belongs to a rank; everything else to the run. A stop request that was handled
  // is not saved: `is_stopping`.
  void save(SavedState& saved, bool is_stopping) const;
  static void forget_stop(SavedState& saved);  // for a run that resumes with more patience or epochs
  const std::string& reason() const { return callbacks_.reason; }
  void load(const SavedState& saved, double time_s, bool is_first_rank);
  void load_reason(const std::string& reason) { callbacks_.reason = reason; }

 private:
  using Set = std::bitset<static_cast<size_t>(Request::count)>;

  Set local() const;
  int local_signal() const { return signals_.stop.load(std::memory_order_relaxed); }
  void put_local(Set requests);

  Training& training_;
  distributed::ProcessGroup& group_;
  const SignalRequests& signals_;
  std::function<double()> clock_;
  CallbackRequests callbacks_;
  Set combined_;
  int signal_ = 0;
  double time_s_ = 0;
  int64_t samples_ = 0;  // of this rank, while they are sent
  at::Tensor packed_;
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
