// The threads that run the models of a predictor. Needs no LibTorch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::predictor {

class WorkerThreads {
 public:
  // Calls `start(number)` on each new thread. Throws what one of them throws, or std::system_error if a thread cannot
  // be started. The threads receive no signals of the process.
  WorkerThreads(size_t count, const std::function<void(size_t number)>& start);
  // Waits until all work is done.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  size_t count() const { return threads_.size(); }

  // [any thread] Calls `work(number)` on a free thread, in the order of the calls, and returns when it is done. Throws
  // what it throws.
  using Work = std::function<void(size_t number)>;
  void run(const Work& work);

 private:
  struct Call {
    const Work* work;
    std::exception_ptr error = {};
    std::atomic<bool> is_done = false;
  };
  // A call that a thread waits for, or has begun.
  static void wait(const Call& call, bool may_spin);
  void serve(size_t number);
  Call* take();

  std::mutex mutex_;
  std::condition_variable has_call_;
  std::deque<Call*> calls_;
  std::atomic<size_t> waiting_ = 0;  // calls_.size(), read without the mutex
  std::atomic<size_t> idle_ = 0;     // threads without a call
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::predictor
