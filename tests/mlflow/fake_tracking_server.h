// A tracking server on loopback that keeps everything in memory and fails on request.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenon::test {

struct ReceivedRequest {
  std::string method;
  std::string path;                            // with the query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// What happens to a request instead of its answer.
struct Failure {
  enum class Kind {
    status,        // answers with `status`, `body` and `header`
    closes,        // closes the connection without an answer
    hangs,         // answers nothing until the client closes the connection
    loses_answer,  // does the work, and then closes the connection
  } kind;
  int status = 0;
  std::string body = {};
  std::string header = {};
};

// A port of loopback that refuses connections until a FakeTrackingServer listens on it. No other program gets it.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;

  int number() const { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

class FakeTrackingServer {
 public:
  // Listens on a free port, or on that of a ReservedPort.
  explicit FakeTrackingServer(int port = 0);
  ~FakeTrackingServer();
  FakeTrackingServer(const FakeTrackingServer&) = delete;

  std::string uri() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // The next requests fail, in this order. Call it before requests can arrive, or between them.
  void fail_next(std::vector<Failure> failures);
  // Returns an answer for a request that the server refuses: {status, body}; status 0: it does not refuse it.
  std::function<std::pair<int, std::string>(const ReceivedRequest&)> refuse;

  // Everything below may be read when no client is sending.
  using Metric = std::tuple<std::string, int64_t, int64_t, std::string>;  // key, step, timestamp, value as JSON
  struct Run {
    std::string experiment_id;
    std::string name;
    std::set<Metric> metrics;  // as MLflow, it keeps equal ones once
    std::map<std::string, std::string> params;
    std::map<std::string, std::string> tags;
    std::vector<std::string> statuses;
    std::map<std::string, std::string> artifacts;
  };
  std::map<std::string, Run> runs;                 // by id
  std::map<std::string, std::string> experiments;  // id by name
  std::vector<ReceivedRequest> requests;
  std::string artifact_root = "mlflow-artifacts:/0/";
  size_t most_metrics = 0;  // in a request
  size_t most_params = 0;

 private:
  void serve();
  void serve_connection(int connection);
  std::pair<int, std::string> answer(const ReceivedRequest& request);
  std::pair<int, std::string> answer_batch(const nlohmann::json& body);

  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::deque<Failure> failures_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace tenon::test
