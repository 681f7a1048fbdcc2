// Whether training starts where it should: the loss of the first batch beside that of a model that knows nothing.
#pragma once

#include <cstdio>
#include <string>

namespace tenon::pipeline {

struct FirstLoss {
  double found;
  double uninformed;  // if all outputs were zero: ln C where these are the logits of C classes

  // Common initialisations are within a fifth of it; outputs of the size of normalised targets double a squared error.
  bool is_far_above() const { return uninformed > 0 && found > 2.2 * uninformed; }
};

// One line for a person: both numbers, and where to look if the first is far above the second.
inline std::string describe(const FirstLoss& loss) {
  char text[128];
  std::snprintf(text, sizeof text, "first batch: loss %.4g, where outputs that are all zero would have %.4g",
                loss.found, loss.uninformed);
  return text + std::string(loss.is_far_above() ? "; so far above is worse than knowing nothing: look at how the model "
                                                  "is initialised, and at the scale of its inputs and of the targets"
                                                : "");
}

}  // namespace tenon::pipeline
