#include "framework/pipeline/loss_meter.h"

#include <torch/torch.h>

#include <limits>

namespace tenon::pipeline {

namespace {

// More scalars than this are read early, so that a run that never logs does not keep them all.
constexpr size_t kMostUnread = 4096;

}  // namespace

LossMeter::LossMeter(const std::vector<plugins::Loss>& losses) {
  for (const plugins::Loss& loss : losses) means_.push_back({loss.name(), loss.factor(), 0, 0, {}});
}

void LossMeter::add(const std::vector<plugins::Loss::Result>& results) {
  for (size_t i = 0; i < means_.size(); ++i) {
    means_[i].unread.push_back({results[i].loss.detach(), results[i].weight_tensor, results[i].weight});
    if (means_[i].unread.size() > kMostUnread) means_[i].drain();
  }
}

void LossMeter::reset() {
  for (Mean& mean : means_) mean = {mean.name, mean.factor, 0, 0, {}};
}

void LossMeter::Mean::drain() {
  for (const plugins::Loss::Result& result : unread) {
    const double batch_weight = result.weight_tensor.defined() ? result.weight_tensor.item<double>() : result.weight;
    if (batch_weight > 0) weighted_sum += batch_weight * result.loss.item<double>();  // 0 items have no mean: NaN
    weight += batch_weight;
  }
  unread.clear();
}

double LossMeter::Mean::value() const {
  return weight > 0 ? weighted_sum / weight : std::numeric_limits<double>::quiet_NaN();
}

double LossMeter::read_total() {
  double total = 0;
  for (Mean& mean : means_) {
    mean.drain();
    total += mean.factor * mean.value();
  }
  return total;
}

std::vector<std::pair<std::string, double>> LossMeter::read_parts() {
  std::vector<std::pair<std::string, double>> parts;
  if (means_.size() < 2) return parts;
  for (Mean& mean : means_) {
    mean.drain();
    parts.emplace_back(mean.name, mean.value());
  }
  return parts;
}

}  // namespace tenon::pipeline
