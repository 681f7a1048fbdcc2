// Compares the loss of the first batch with the zero-output baseline.
#pragma once

#include <cstdio>
#include <string>

namespace tenon::pipeline {

struct FirstLoss {
  double found;
  double zero_output;  // if all outputs were zero: ln C for the logits of C classes

  // Common initialisations are within 20 % of it. Outputs at the scale of normalised targets double a squared error.
  bool is_far_above() const { return zero_output > 0 && found > 2.2 * zero_output; }
};

// One line for the user: both numbers, and what to check if the first is far above the second.
inline std::string describe(const FirstLoss& loss) {
  char text[128];
  std::snprintf(text, sizeof text, "initial loss %.4g (%.4g expected for zero outputs)", loss.found, loss.zero_output);
  return text + std::string(loss.is_far_above() ? "; far too high: check the initialisation of the model "
                                                  "and the scale of its inputs and targets"
                                                : "");
}

}  // namespace tenon::pipeline
