// Softmax cross entropy of one row of logits. The CPU and the kernels compute the same expressions.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define HOST_AND_DEVICE __host__ __device__
#else
#define HOST_AND_DEVICE
#endif

namespace cuda_loss {

// The logits [rows, classes] and the class of each row.
template <class T>
struct Batch {
  const T* logits;
  const int64_t* target;
  int64_t rows;
  int64_t classes;
  int64_t ignore_index;
};

// The largest logit of a row, and the logarithm of the sum of exp(logit - largest). Backward needs both.
template <class T>
struct RowStatistics {
  T largest;
  T log_sum;
};

// The loss of a row is 0 if its target is ignored, and NaN if its target is not a class.
template <class T>
HOST_AND_DEVICE T row_loss(const Batch<T>& batch, int64_t row, const RowStatistics<T>& statistics) {
  const int64_t target = batch.target[row];
  if (target == batch.ignore_index) return 0;
  if (target < 0 || target >= batch.classes) return NAN;
  return statistics.log_sum - (batch.logits[row * batch.classes + target] - statistics.largest);
}

// The derivative of the row's loss with respect to one logit: softmax, minus 1 for the target.
template <class T>
HOST_AND_DEVICE T logit_gradient(const Batch<T>& batch, int64_t row, int64_t label,
                                 const RowStatistics<T>& statistics) {
  const int64_t target = batch.target[row];
  if (target == batch.ignore_index) return 0;
  const T logit = batch.logits[row * batch.classes + label];
  const T probability = std::exp((logit - statistics.largest) - statistics.log_sum);
  return label == target ? probability - 1 : probability;
}

}  // namespace cuda_loss
