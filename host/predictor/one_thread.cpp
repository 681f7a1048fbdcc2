#include "host/predictor/one_thread.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "framework/support/process/arithmetic_modes.h"

namespace tenon::predictor {

namespace {

// A function of the libraries that LibTorch brings. Null if it has others.
template <class Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int count_omp_threads() {
  static auto* const count = find_function<int()>("omp_get_max_threads");
  return count ? count() : 1;
}

void set_omp_threads(int threads) {
  static auto* const set = find_function<void(int)>("omp_set_num_threads");
  if (set) set(threads);
}

// Returns the number before; 0: MKL's default. MKL is a part of LibTorch on x86-64.
int set_mkl_threads(int threads) {
  static auto* const set = find_function<int(int)>("MKL_Set_Num_Threads_Local");
  return set ? set(threads) : 0;
}

}  // namespace

OneThread::OneThread(bool flush_denormal)
    : arithmetic_(support::read_arithmetic_modes()), omp_threads_(count_omp_threads()) {
  at::get_num_threads();  // the first call of a thread sets OpenMP's number
  set_omp_threads(1);
  mkl_threads_ = set_mkl_threads(1);
  at::globalContext().setFlushDenormal(flush_denormal);
}

OneThread::~OneThread() {
  set_mkl_threads(mkl_threads_);
  set_omp_threads(omp_threads_);
  support::set_arithmetic_modes(arithmetic_);
}

}  // namespace tenon::predictor
