#include "framework/pipeline/losses/loss_meter.h"

#include <limits>

namespace tenon::pipeline {

LossMeter::LossMeter(const std::vector<plugins::Loss>& losses) : sums_(losses) {
  for (const plugins::Loss& loss : losses) {
    Names& names = names_.emplace_back(Names{loss.name(), loss.factor(), {}});
    for (const std::string& part : loss.part_names()) names.parts.push_back(loss.name() + "." + part);
  }
}

double LossMeter::total() const {
  const std::vector<LossValue> means = sums_.means();
  double total = 0;
  bool has_items = false;
  for (size_t i = 0; i < means.size(); ++i) {
    if (means[i].weight <= 0) continue;
    total += names_[i].factor * means[i].mean;
    has_items = true;
  }
  return has_items ? total : std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::pair<std::string, double>> LossMeter::parts() const {
  const std::vector<LossValue> means = sums_.means();
  std::vector<std::pair<std::string, double>> parts;
  for (size_t i = 0; i < means.size(); ++i) {
    if (means.size() > 1) parts.emplace_back(names_[i].loss, means[i].mean);
    for (size_t k = 0; k < means[i].parts.size(); ++k) parts.emplace_back(names_[i].parts[k], means[i].parts[k]);
  }
  return parts;
}

}  // namespace tenon::pipeline
