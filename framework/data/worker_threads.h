// The threads of the data workers. They have names and block the signals that are sent to the process.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tenon::data {

class WorkerThreads {
 public:
  WorkerThreads() = default;
  ~WorkerThreads() { join(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Starts `count` threads "tenon-data-0", ..., each with body(id). Throws support::Error(system) if the system
  // allows only some of them. These threads then run, and the caller must stop and join them.
  void start(int64_t count, const std::function<void(uint64_t id)>& body);

  // Waits for the end of all threads.
  void join();

  bool are_running() const { return !threads_.empty(); }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace tenon::data
