#include "framework/pipeline/request_sync.h"

#include <torch/types.h>

#include <array>
#include <csignal>

namespace tenon::pipeline {

namespace {

// The signals that request a stop. If ranks receive different ones, the first in this list is used by all.
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

enum Place { stop, save, evaluate, log, time, samples, signals, count = signals + kSignals.size() };

}  // namespace

void RequestSync::start_sync(const LoopRequests& local) {
  packed_ = at::zeros({count}, at::kDouble);
  double* packed = packed_.mutable_data_ptr<double>();
  packed[stop] = local.stop;
  packed[save] = local.save;
  packed[evaluate] = local.evaluate;
  packed[log] = local.log;
  packed[time] = group_->rank() == 0 ? local.time_s : 0;
  packed[samples] = static_cast<double>(local.samples);
  for (size_t i = 0; i < kSignals.size(); ++i) packed[signals + i] = local.signal == kSignals[i];
  pending_ = group_->start_reduce(distributed::Reduction::sum, packed_);
}

void RequestSync::finish_sync() {
  pending_.wait();
  const double* packed = packed_.const_data_ptr<double>();
  synced_ = {packed[stop] > 0,
             packed[save] > 0,
             packed[evaluate] > 0,
             packed[log] > 0,
             0,
             packed[time],
             static_cast<int64_t>(packed[samples])};
  for (size_t i = kSignals.size(); i-- > 0;)
    if (packed[signals + i] > 0) synced_.signal = kSignals[i];
}

void RequestSync::sync_now(const LoopRequests& local) {
  const LoopRequests before = synced_;
  start_sync(local);
  finish_sync();
  synced_.stop |= before.stop;
  synced_.save |= before.save;
  synced_.evaluate |= before.evaluate;
  synced_.log |= before.log;
  if (synced_.signal == 0) synced_.signal = before.signal;
}

int64_t RequestSync::add_up(int64_t count) {
  const at::Tensor sum = at::full({1}, count, at::kLong);
  group_->reduce(distributed::Reduction::sum, sum);
  return sum.item<int64_t>();
}

}  // namespace tenon::pipeline
