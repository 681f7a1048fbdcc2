// The loops of softmax cross entropy over rows of classes, for logits as [rows, classes] in memory. Compiled for
// several instruction sets; the best one of this processor is chosen at run time.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::operators {

// What the loss needs of the logits x.
struct LogitSums {
  float max;            // of x; NaN are left out of it, but not of the sums
  double exponentials;  // sum of exp(x - max)
  double differences;   // sum of x - max
};

// The gradient of a logit x is factor * (exp(x - max) * scale - share).
struct LogitGradient {
  float max, scale;  // of softmax
  float factor;
  float share;  // the expected probability of a class that is not the target
};

struct SoftmaxKernels {
  // Sums are formed over at most 512 classes in float and added in double.
  LogitSums (*add_up)(const float* logits, int64_t classes);
  // Writes the gradients.
  void (*propagate)(const float* logits, int64_t classes, const LogitGradient& gradient, float* result);
};

const SoftmaxKernels& softmax_kernels();

// Those that this processor can run, the best first.
std::vector<const SoftmaxKernels*> all_softmax_kernels();

}  // namespace tenon::operators
