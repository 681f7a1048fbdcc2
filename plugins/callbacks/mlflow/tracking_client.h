// Requests to an MLflow tracking server: its REST API 2.0.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/callbacks/mlflow/http.h"

namespace mlflow {

using Json = nlohmann::ordered_json;
// Of the server. Adding a key to an object of ordered_json visits all its keys.
using Answer = nlohmann::json;

// The server has answered, and would give the same answer again.
class Refused : public std::runtime_error {
 public:
  Refused(long status, std::string code, const std::string& reason)
      : std::runtime_error(reason), status_(status), code_(std::move(code)) {}
  long status() const { return status_; }            // of HTTP
  const std::string& code() const { return code_; }  // "RESOURCE_DOES_NOT_EXIST"; empty: the answer has none
  // Whether only the content of the request is at fault, so that another request may succeed.
  bool is_about_content() const { return status_ == 400 || status_ == 413 || status_ == 422; }

 private:
  long status_;
  std::string code_;
};

struct Tag {
  std::string key;
  std::string value;
};

struct RunStart {
  std::string experiment;     // its name
  std::string experiment_id;  // instead of the name, if not empty
  std::string name;
  std::string id;  // the tag kRunTag, which identifies the run on every server
  int64_t time_ms = 0;
  std::vector<Tag> tags;
};

struct OpenedRun {
  std::string experiment_id;
  std::string run_id;
  std::string artifact_uri;
};

constexpr const char* kRunTag = "tenon.run";

// All functions throw Unavailable if the request can be repeated, and Refused if not.
class TrackingClient {
 public:
  TrackingClient(const ServerSettings& settings, const std::atomic<bool>& is_cancelled)
      : http_(settings, is_cancelled) {}

  // Finds the run with this id, which an earlier request may have created without its answer arriving, or creates it,
  // and the experiment.
  OpenedRun open_run(const RunStart& start);
  // `entries`: the lists "metrics", "params" and "tags" of runs/log-batch.
  void log_batch(const std::string& run_id, const Json& entries);
  void update_run(const std::string& run_id, const std::string& status, std::optional<int64_t> end_time_ms);
  // `path`: relative to the artifacts of the run. REQUIRES: has_artifact_proxy(artifact_uri).
  void put_artifact(const std::string& artifact_uri, const std::string& path, const std::string& file);

  // Whether the server accepts the artifacts of the run itself: mlflow-artifacts:/1/abc/artifacts.
  static bool has_artifact_proxy(const std::string& artifact_uri);

 private:
  std::string find_experiment(const RunStart& start);
  Answer call(const std::string& path, const std::optional<Json>& body);

  Http http_;
};

}  // namespace mlflow
