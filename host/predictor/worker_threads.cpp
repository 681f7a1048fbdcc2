#include "host/predictor/worker_threads.h"

#include <chrono>

#include "framework/support/process/signals_blocked.h"

namespace tenon::predictor {

namespace {

// Waking a thread takes longer than a small model. A thread that waits therefore looks for this time whether it can go
// on, and sleeps then. It never spins where it would take the only core from the thread that it waits for.
constexpr std::chrono::microseconds kSpinTime{20};

bool has_cores() {
  static const bool has_several = std::thread::hardware_concurrency() > 1;
  return has_several;
}

template <class IsReady>
bool spin_until(const IsReady& is_ready) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (is_ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

WorkerThreads::WorkerThreads(size_t count, const std::function<void(size_t number)>& start) {
  const support::SignalsBlocked blocked;
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> started = 0;
  try {
    for (size_t number = 0; number < count; ++number)
      threads_.emplace_back([&, number] {
        try {
          start(number);
        } catch (...) {
          errors[number] = std::current_exception();
        }
        // The constructor's variables end with it.
        started.fetch_add(1);
        started.notify_all();
        serve(number);
      });
  } catch (...) {
    errors.push_back(std::current_exception());
  }
  for (size_t ready = started; ready < threads_.size(); ready = started) started.wait(ready);
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    has_call_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    std::rethrow_exception(error);
  }
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_call_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(const Work& work) {
  Call call{&work};
  bool is_taken_now = false;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(&call);
    waiting_ = calls_.size();
    is_taken_now = idle_ >= calls_.size();
  }
  has_call_.notify_one();
  wait(call, is_taken_now);
  if (call.error) std::rethrow_exception(call.error);
}

void WorkerThreads::wait(const Call& call, bool may_spin) {
  if (may_spin && has_cores() && spin_until([&] { return call.is_done.load(std::memory_order_acquire); })) return;
  call.is_done.wait(false, std::memory_order_acquire);
}

WorkerThreads::Call* WorkerThreads::take() {
  ++idle_;
  if (has_cores()) spin_until([this] { return waiting_.load(std::memory_order_relaxed) > 0; });
  std::unique_lock lock(mutex_);
  has_call_.wait(lock, [this] { return is_ending_ || !calls_.empty(); });
  --idle_;
  if (calls_.empty()) return nullptr;
  Call* const call = calls_.front();
  calls_.pop_front();
  waiting_ = calls_.size();
  return call;
}

void WorkerThreads::serve(size_t number) {
  while (Call* const call = take()) {
    try {
      (*call->work)(number);
    } catch (...) {
      call->error = std::current_exception();
    }
    call->is_done.store(true, std::memory_order_release);
    // The caller may end the call as soon as it is done; only its address is used from here on.
    call->is_done.notify_one();
  }
}

}  // namespace tenon::predictor
