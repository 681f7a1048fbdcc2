// The values that a schedule sets for each optimizer step.
#pragma once

#include <optional>

namespace tenon::optimization {

struct StepRates {
  double learning_rate = 0;
  // Replaces the optimizer's momentum: that of SGD, RMSprop and Muon, the first beta of Adam, AdamW and Lion.
  std::optional<double> momentum = std::nullopt;
};

}  // namespace tenon::optimization
