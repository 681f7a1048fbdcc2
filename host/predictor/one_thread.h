// Runs LibTorch's operators on the calling thread alone, as a thread of a program that may use OpenMP too.
#pragma once

#include <cstdint>

namespace tenon::predictor {

// While it lives, operators of this thread start no others, and denormal numbers are handled as in the run. The
// settings of the thread are restored.
class OneThread {
 public:
  explicit OneThread(bool flush_denormal);
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  uint64_t arithmetic_;
  int omp_threads_;
  int mkl_threads_;
};

}  // namespace tenon::predictor
