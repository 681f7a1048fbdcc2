#include "host/predictor/one_thread.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <omp.h>

#include "framework/support/process/arithmetic_modes.h"

namespace tenon::predictor {

namespace {

// Returns the number before; 0: MKL's default. MKL is a part of LibTorch on x86-64.
int set_mkl_threads(int threads) {
  using SetThreads = int (*)(int);
  static const auto set_threads = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"));
  return set_threads ? set_threads(threads) : 0;
}

}  // namespace

OneThread::OneThread(bool flush_denormal)
    : arithmetic_(support::read_arithmetic_modes()), omp_threads_(omp_get_max_threads()) {
  at::get_num_threads();  // the first call of a thread sets OpenMP's number
  omp_set_num_threads(1);
  mkl_threads_ = set_mkl_threads(1);
  at::globalContext().setFlushDenormal(flush_denormal);
}

OneThread::~OneThread() {
  set_mkl_threads(mkl_threads_);
  omp_set_num_threads(omp_threads_);
  support::set_arithmetic_modes(arithmetic_);
}

}  // namespace tenon::predictor
