// What a schedule says of a step, and an optimizer goes by.
#pragma once

#include <optional>

namespace tenon::optimization {

struct StepRates {
  double learning_rate = 0;
  // In place of the optimizer's own momentum: SGD's, RMSprop's and Muon's, the first beta of Adam, AdamW and Lion.
  std::optional<double> momentum = std::nullopt;
};

}  // namespace tenon::optimization
