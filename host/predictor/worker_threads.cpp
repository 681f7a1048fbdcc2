#include "host/predictor/worker_threads.h"

#include "framework/support/process/signals_blocked.h"

namespace tenon::predictor {

WorkerThreads::WorkerThreads(size_t count, const std::function<void(size_t number)>& start) {
  const support::SignalsBlocked blocked;
  std::vector<std::exception_ptr> errors(count + 1);
  std::atomic<size_t> started = 0;
  try {
    for (size_t number = 0; number < count; ++number)
      threads_.emplace_back([&, number] {
        try {
          start(number);
        } catch (...) {
          errors[number] = std::current_exception();
        }
        // The constructor's variables may end from here on.
        started.fetch_add(1);
        serve(number);
      });
  } catch (...) {
    errors.back() = std::current_exception();
  }
  while (started < threads_.size()) std::this_thread::yield();
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    end();
    std::rethrow_exception(error);
  }
}

WorkerThreads::~WorkerThreads() { end(); }

void WorkerThreads::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_call_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(const Work& work) {
  Call call{&work};
  std::unique_lock lock(mutex_);
  calls_.push_back(&call);
  has_call_.notify_one();
  call.done.wait(lock, [&] { return call.is_done; });
  lock.unlock();
  if (call.error) std::rethrow_exception(call.error);
}

void WorkerThreads::serve(size_t number) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_call_.wait(lock, [this] { return is_ending_ || !calls_.empty(); });
    if (calls_.empty()) return;
    Call& call = *calls_.front();
    calls_.pop_front();
    lock.unlock();
    try {
      (*call.work)(number);
    } catch (...) {
      call.error = std::current_exception();
    }
    lock.lock();
    // Under the lock, because the call ends as soon as its thread has it.
    call.is_done = true;
    call.done.notify_one();
  }
}

FreeNumbers::FreeNumbers(size_t count) {
  for (size_t number = count; number > 0; --number) free_.push_back(number - 1);
}

FreeNumbers::Use::Use(FreeNumbers& numbers) : numbers_(numbers) {
  std::unique_lock lock(numbers_.mutex_);
  numbers_.is_free_.wait(lock, [this] { return !numbers_.free_.empty(); });
  number_ = numbers_.free_.back();
  numbers_.free_.pop_back();
}

FreeNumbers::Use::~Use() {
  {
    const std::lock_guard lock(numbers_.mutex_);
    numbers_.free_.push_back(number_);
  }
  numbers_.is_free_.notify_one();
}

}  // namespace tenon::predictor
