#include "framework/pipeline/agreement.h"

#include <torch/types.h>

#include <array>
#include <csignal>

namespace tenon::pipeline {

namespace {

// The signals that request a stop. If ranks receive different ones, the first in this list is used by all.
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

enum Place { stop, save, evaluate, log, time, samples, signals, count = signals + kSignals.size() };

}  // namespace

void Agreement::propose(const Ballot& own) {
  votes_ = at::zeros({count}, at::kDouble);
  double* votes = votes_.mutable_data_ptr<double>();
  votes[stop] = own.stop;
  votes[save] = own.save;
  votes[evaluate] = own.evaluate;
  votes[log] = own.log;
  votes[time] = group_->rank() == 0 ? own.time_s : 0;
  votes[samples] = static_cast<double>(own.samples);
  for (size_t i = 0; i < kSignals.size(); ++i) votes[signals + i] = own.signal == kSignals[i];
  pending_ = group_->start_reduce(distributed::Reduction::sum, votes_);
}

void Agreement::settle() {
  pending_.wait();
  const double* votes = votes_.const_data_ptr<double>();
  agreed_ = {votes[stop] > 0,
             votes[save] > 0,
             votes[evaluate] > 0,
             votes[log] > 0,
             0,
             votes[time],
             static_cast<int64_t>(votes[samples])};
  for (size_t i = kSignals.size(); i-- > 0;)
    if (votes[signals + i] > 0) agreed_.signal = kSignals[i];
}

void Agreement::agree_now(const Ballot& own) {
  const Ballot before = agreed_;
  propose(own);
  settle();
  agreed_.stop |= before.stop;
  agreed_.save |= before.save;
  agreed_.evaluate |= before.evaluate;
  agreed_.log |= before.log;
  if (agreed_.signal == 0) agreed_.signal = before.signal;
}

int64_t Agreement::add_up(int64_t count) {
  const at::Tensor sum = at::full({1}, count, at::kLong);
  group_->reduce(distributed::Reduction::sum, sum);
  return sum.item<int64_t>();
}

}  // namespace tenon::pipeline
