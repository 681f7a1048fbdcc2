// Where the models of a predictor run: on threads of the predictor, or on the calling thread. Needs no LibTorch.
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

// Threads that do work for others.
class WorkerThreads {
 public:
  // Calls `start(number)` on each new thread. Throws what one of them throws, or std::system_error if a thread cannot
  // be started. The threads receive no signals of the process.
  WorkerThreads(size_t count, const std::function<void(size_t number)>& start);
  // Waits until all work is done.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // [any thread] Calls `work(number)` on a free thread, in the order of the calls, and returns when it is done. Throws
  // what it throws.
  using Work = std::function<void(size_t number)>;
  void run(const Work& work);

 private:
  // Work that a thread waits for.
  struct Call {
    const Work* work;
    std::exception_ptr error = {};
    bool is_done = false;
    std::condition_variable done = {};
  };
  void end();
  void serve(size_t number);

  std::mutex mutex_;
  std::condition_variable has_call_;
  std::deque<Call*> calls_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// Numbers from 0 that one thread at a time has.
class FreeNumbers {
 public:
  explicit FreeNumbers(size_t count);

  // [any thread] Has a number while it lives. The constructor waits for a free one.
  class Use {
   public:
    explicit Use(FreeNumbers& numbers);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    size_t number() const { return number_; }

   private:
    FreeNumbers& numbers_;
    size_t number_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<size_t> free_;
};

}  // namespace tenon::predictor
