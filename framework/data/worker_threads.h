// The threads of the data workers, as the rest of the process may expect them: named, and deaf to the signals that are
// sent to the process.
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

  // Starts `count` threads "tenon-data-0", ..., each with body(id). Throws support::Error(configuration) if the system
  // lets only some of them start; those run then, and are to be told to end and joined.
  void start(int64_t count, const std::function<void(uint64_t id)>& body);

  // Waits for the end of all threads.
  void join();

  bool are_running() const { return !threads_.empty(); }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace tenon::data
