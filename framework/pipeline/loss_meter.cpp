#include "framework/pipeline/loss_meter.h"

#include <limits>

namespace tenon::pipeline {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

LossMeter::LossMeter(const std::vector<plugins::Loss>& losses) {
  for (const plugins::Loss& loss : losses) means_.push_back({loss.name(), loss.factor(), 0, 0});
}

void LossMeter::add(const std::vector<LossValue>& values) {
  for (size_t i = 0; i < means_.size(); ++i) {
    if (values[i].weight > 0) means_[i].weighted_sum += values[i].weight * values[i].mean;  // 0 items have no mean: NaN
    means_[i].weight += values[i].weight;
  }
}

void LossMeter::reset() {
  for (Mean& mean : means_) mean.weighted_sum = mean.weight = 0;
}

double LossMeter::Mean::value() const { return weight > 0 ? weighted_sum / weight : kNone; }

double LossMeter::total() const {
  double total = 0;
  bool has_items = false;
  for (const Mean& mean : means_) {
    if (mean.weight <= 0) continue;
    total += mean.factor * mean.value();
    has_items = true;
  }
  return has_items ? total : kNone;
}

std::vector<std::pair<std::string, double>> LossMeter::parts() const {
  std::vector<std::pair<std::string, double>> parts;
  if (means_.size() < 2) return parts;
  for (const Mean& mean : means_) parts.emplace_back(mean.name, mean.value());
  return parts;
}

}  // namespace tenon::pipeline
