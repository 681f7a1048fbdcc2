// Sends the queue of a run to the tracking server from a thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/callbacks/mlflow/queue.h"
#include "plugins/callbacks/mlflow/tracking_client.h"

namespace mlflow {

// Lines of the queue, by "kind":
//   run       id, experiment or experiment_id, name, time, tags    the first line
//   settings  settings: {key: value}
//   tags      tags: {key: value}
//   values    event, step, time, values: [[name, value], ...]; a value that is not finite is "NaN", "Infinity", ...
//   status    status, time
//   artifact  path, relative to the run folder
struct SenderOptions {
  std::chrono::milliseconds first_pause{1000};  // after a failed attempt; doubles with each
  std::chrono::milliseconds longest_pause{60'000};
};

class Sender {
 public:
  // Starts the thread. `log` receives warnings and is called by that thread. The queue must outlive this object. Throws
  // tenon::Error if libcurl cannot be loaded.
  Sender(ServerSettings settings, std::string folder, Queue& queue, std::function<void(const std::string&)> log,
         SenderOptions options = {});
  // Stops without sending the rest.
  ~Sender();
  Sender(const Sender&) = delete;

  void notify();              // the queue has new lines; does not wait
  void request_queue_sync();  // the thread makes the queue durable; does not wait

  // Sends the rest, at most for this time, then stops. Returns whether the server has everything.
  bool finish(std::chrono::milliseconds longest);
  // Sends the rest for as long as the server takes it: stops when it has taken nothing for this time. A file counts
  // from its end.
  bool finish_without_limit(std::chrono::milliseconds longest_pause);

 private:
  // The state that the thread and its caller share.
  enum class Phase { running, finishing, stopped };

  bool stop();
  void run();
  void send_next(const std::vector<Queue::Line>& lines);
  void open_run();
  void send_entries(Json metrics, Json params, Json tags);
  void send_or_divide(const char* kind, const Json& entries);
  void send_single(const char* kind, Json entry, const Refused& refused);
  void send_line(const Json& line);
  void send_settings(const Json& settings);
  void send_artifact(const std::string& path);
  void acknowledge(int64_t offset);
  void note_failure(const Unavailable& failure);
  void give_up(const std::string& reason);
  void wait_for(std::chrono::milliseconds pause);
  bool is_all_sent() const { return sent_offset_ >= queue_.size(); }

  const ServerSettings settings_;
  const std::string folder_;
  Queue& queue_;
  const std::function<void(const std::string&)> log_;
  const SenderOptions options_;
  std::atomic<bool> is_cancelled_{false};

  // Of the thread.
  TrackingClient client_;
  Sent sent_;
  std::chrono::milliseconds pause_;
  bool has_warned_ = false;           // that the server cannot be reached
  bool has_warned_of_entry_ = false;  // that the server refuses an entry
  bool has_warned_of_artifacts_ = false;
  bool has_warned_of_file_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::running;
  bool has_given_up_ = false;
  int64_t progress_ = 0;  // number of acknowledgements
  bool is_away_ = false;  // the last attempt failed
  bool wants_sync_ = false;
  std::atomic<int64_t> sent_offset_{0};
  std::thread thread_;  // last: uses all of the above
};

}  // namespace mlflow
