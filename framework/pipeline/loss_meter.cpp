#include "framework/pipeline/loss_meter.h"

#include <cmath>
#include <limits>

namespace tenon::pipeline {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

LossMeter::LossMeter(const std::vector<plugins::Loss>& losses) {
  for (const plugins::Loss& loss : losses) {
    means_.push_back({loss.name(), loss.factor(), 0, 0});
    parts_.emplace_back();
    for (const std::string& part : loss.part_names()) parts_.back().push_back({loss.name() + "." + part, 1, 0, 0});
  }
}

void LossMeter::add(const std::vector<LossValue>& values) {
  for (size_t i = 0; i < means_.size(); ++i) {
    means_[i].add(values[i].mean, values[i].weight);
    for (size_t k = 0; k < parts_[i].size(); ++k)
      if (!std::isnan(values[i].parts[k])) parts_[i][k].add(values[i].parts[k], values[i].weight);
  }
}

void LossMeter::Mean::add(double mean, double over) {
  if (over > 0) weighted_sum += over * mean;  // 0 items have no mean: NaN
  weight += over;
}

void LossMeter::reset() {
  for (Mean& mean : means_) mean.weighted_sum = mean.weight = 0;
  for (std::vector<Mean>& parts : parts_)
    for (Mean& mean : parts) mean.weighted_sum = mean.weight = 0;
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
  for (size_t i = 0; i < means_.size(); ++i) {
    if (means_.size() > 1) parts.emplace_back(means_[i].name, means_[i].value());
    for (const Mean& part : parts_[i]) parts.emplace_back(part.name, part.value());
  }
  return parts;
}

}  // namespace tenon::pipeline
