#include "framework/pipeline/loop/requests.h"

#include <torch/types.h>

#include <array>
#include <csignal>
#include <cstring>

namespace tenon::pipeline {

namespace {

// The signals that request a stop. If ranks receive different ones, the first in this list is used by all.
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

constexpr size_t kRequests = static_cast<size_t>(Request::count);
// The elements of the tensor that the ranks add up, after the requests.
enum Place : size_t { time = kRequests, samples, signals, count = signals + kSignals.size() };

// In the order of Request.
constexpr std::array<bool CallbackRequests::*, kRequests> kFlags{&CallbackRequests::stop, &CallbackRequests::save,
                                                                 &CallbackRequests::evaluate, &CallbackRequests::log};
constexpr std::array<const char*, kRequests> kKeys{"requested.stop", "requested.save", "requested.evaluate",
                                                   "requested.log"};
const std::string kScalar = "scalar.";

}  // namespace

Requests::Set Requests::local() const {
  Set set;
  for (size_t i = 0; i < kRequests; ++i) set[i] = callbacks_.*kFlags[i];
  if (signals_.save.load(std::memory_order_relaxed)) set.set(static_cast<size_t>(Request::save));
  return set;
}

void Requests::put_local(Set requests) {
  for (size_t i = 0; i < kRequests; ++i) callbacks_.*kFlags[i] = requests[i];
}

void Requests::start_sync(int64_t samples) {
  samples_ = samples;
  if (group_.is_single()) return;
  packed_ = at::zeros({Place::count}, at::kDouble);
  double* packed = packed_.mutable_data_ptr<double>();
  const Set requests = local();
  for (size_t i = 0; i < kRequests; ++i) packed[i] = requests[i];
  packed[Place::time] = group_.rank() == 0 ? clock_() : 0;
  packed[Place::samples] = static_cast<double>(samples);
  for (size_t i = 0; i < kSignals.size(); ++i) packed[Place::signals + i] = local_signal() == kSignals[i];
  pending_ = group_.start_reduce(distributed::Reduction::sum, packed_);
  put_local({});
}

SyncedStep Requests::finish_sync() {
  if (group_.is_single()) return {samples_};
  const InStage stage(training_.times, Stage::processes);
  pending_.wait();
  const double* packed = packed_.const_data_ptr<double>();
  for (size_t i = 0; i < kRequests; ++i) combined_[i] = packed[i] > 0;
  time_s_ = packed[Place::time];
  signal_ = 0;
  for (size_t i = kSignals.size(); i-- > 0;)
    if (packed[Place::signals + i] > 0) signal_ = kSignals[i];
  return {static_cast<int64_t>(packed[Place::samples])};
}

void Requests::sync_now() {
  if (group_.is_single()) return;
  const InStage stage(training_.times, Stage::processes);
  const Set before = combined_;
  const int signal_before = signal_;
  start_sync(0);
  finish_sync();
  combined_ |= before;
  if (signal_ == 0) signal_ = signal_before;
}

int64_t Requests::add_up(int64_t count) {
  const at::Tensor sum = at::full({1}, count, at::kLong);
  group_.reduce(distributed::Reduction::sum, sum);
  return sum.item<int64_t>();
}

std::optional<StopRequest> Requests::stop() const {
  if (const int number = signal(); number != 0) {
    const char* const name = sigabbrev_np(number);
    return StopRequest{number, std::string("SIG") + (name ? name : "?")};
  }
  if (!has(Request::stop)) return std::nullopt;
  return StopRequest{0, !callbacks_.reason.empty() ? callbacks_.reason : "requested by a callback of another rank"};
}

void Requests::take(Request request) {
  const auto index = static_cast<size_t>(request);
  callbacks_.*kFlags[index] = false;
  combined_.reset(index);
  if (request == Request::save) signals_.save.store(false, std::memory_order_relaxed);
}

MetricValues Requests::take_scalars() { return std::exchange(callbacks_.scalars, {}); }

void Requests::save(SavedState& saved, bool is_stopping) const {
  for (size_t i = 0; i < kRequests; ++i) saved.numbers[kKeys[i]] = has(static_cast<Request>(i));
  if (is_stopping) saved.numbers[kKeys[static_cast<size_t>(Request::stop)]] = 0;
  for (const auto& [name, value] : callbacks_.scalars) saved.numbers[kScalar + name] = value;
}

void Requests::forget_stop(SavedState& saved) { saved.numbers[kKeys[static_cast<size_t>(Request::stop)]] = 0; }

void Requests::load(const SavedState& saved, double time_s, bool is_first_rank) {
  time_s_ = time_s;
  Set requests;
  for (size_t i = 0; i < kRequests; ++i) requests[i] = saved.count(kKeys[i]) != 0;
  if (group_.is_single())
    put_local(requests);
  else
    combined_ = requests;
  if (!is_first_rank) return;
  for (const auto& [name, value] : saved.numbers)
    if (name.starts_with(kScalar)) callbacks_.scalars[name.substr(kScalar.size())] = value;
}

}  // namespace tenon::pipeline
