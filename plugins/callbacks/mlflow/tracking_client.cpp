#include "plugins/callbacks/mlflow/tracking_client.h"

#include <algorithm>
#include <utility>

namespace mlflow {

namespace {

const std::string kApi = "/api/2.0/mlflow/";
const std::string kArtifactScheme = "mlflow-artifacts:/";
constexpr size_t kShown = 200;  // bytes of an answer in a message

std::string show(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Throws unless the answer is a success.
void check_status(const HttpResponse& response, const Json& json) {
  const long status = response.status;
  if (status >= 200 && status < 300) return;
  const std::string reason = "HTTP status " + std::to_string(status);
  if (status == 408 || status == 425 || status == 429 || status >= 500)
    throw Unavailable(reason, response.retry_after_s);
  const std::string message = text_of(json, "message");
  const std::string text = reason + ": " + show(message.empty() ? response.body : message);
  // Something else than the tracking server has answered, such as a proxy while the server starts.
  if (json.is_discarded() && status != 401 && status != 403 && status != 413) throw Unavailable(text);
  throw Refused(status, text_of(json, "error_code"), text);
}

OpenedRun read_run(const Json& answer, const Json& run) {
  const Json info = run.is_object() ? run.value("info", Json()) : Json();
  OpenedRun opened{text_of(info, "experiment_id"), text_of(info, "run_id"), text_of(info, "artifact_uri")};
  if (opened.run_id.empty()) throw Unavailable("the answer has no run: " + show(answer.dump()));
  return opened;
}

}  // namespace

Json TrackingClient::call(const std::string& path, const std::optional<Json>& body) {
  // Invalid UTF-8 in a name is replaced, not an error.
  const HttpResponse response = http_.request(
      kApi + path, body ? std::optional(body->dump(-1, ' ', false, Json::error_handler_t::replace)) : std::nullopt);
  Json json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  check_status(response, json);
  if (!json.is_object()) throw Unavailable("the answer is not JSON of a tracking server: " + show(response.body));
  return json;
}

std::string TrackingClient::find_experiment(const RunStart& start) {
  if (!start.experiment_id.empty()) return start.experiment_id;
  const std::string query = "experiments/get-by-name?experiment_name=" + encode_for_uri(start.experiment);
  const auto find = [&] {
    const Json answer = call(query, std::nullopt);
    const Json experiment = answer.value("experiment", Json());
    if (text_of(experiment, "lifecycle_stage") == "deleted")
      throw Refused(400, "INVALID_STATE",
                    "the experiment \"" + start.experiment +
                        "\" is deleted on the server; restore it, or set another one with "
                        "params.experiment");
    const std::string id = text_of(experiment, "experiment_id");
    if (id.empty()) throw Unavailable("the answer has no experiment: " + show(answer.dump()));
    return id;
  };
  try {
    return find();
  } catch (const Refused& refused) {
    if (refused.code() != "RESOURCE_DOES_NOT_EXIST") throw;
  }
  try {
    const Json answer = call("experiments/create", Json{{"name", start.experiment}});
    const std::string id = text_of(answer, "experiment_id");
    if (id.empty()) throw Unavailable("the answer has no experiment: " + show(answer.dump()));
    return id;
  } catch (const Refused& refused) {
    if (refused.code() != "RESOURCE_ALREADY_EXISTS") throw;
  }
  return find();  // another run has created it
}

OpenedRun TrackingClient::open_run(const RunStart& start) {
  const std::string experiment_id = find_experiment(start);
  const Json found = call("runs/search", Json{{"experiment_ids", {experiment_id}},
                                              {"filter", std::string("tags.`") + kRunTag + "` = '" + start.id + "'"},
                                              {"max_results", 1}});
  const Json runs = found.value("runs", Json::array());
  if (runs.is_array() && !runs.empty()) return read_run(found, runs.front());

  Json tags = {{{"key", kRunTag}, {"value", start.id}}, {{"key", "mlflow.runName"}, {"value", start.name}}};
  std::string user;
  for (const Tag& tag : start.tags) {
    tags.push_back({{"key", tag.key}, {"value", tag.value}});
    if (tag.key == "mlflow.user") user = tag.value;
  }
  const Json created = call("runs/create", Json{{"experiment_id", experiment_id},
                                                {"user_id", user},
                                                {"run_name", start.name},
                                                {"start_time", start.time_ms},
                                                {"tags", tags}});
  return read_run(created, created.value("run", Json()));
}

void TrackingClient::log_batch(const std::string& run_id, const Json& entries) {
  Json body = {{"run_id", run_id}};
  body.update(entries);
  call("runs/log-batch", body);
}

void TrackingClient::update_run(const std::string& run_id, const std::string& status,
                                std::optional<int64_t> end_time_ms) {
  Json body = {{"run_id", run_id}, {"status", status}};
  if (end_time_ms) body["end_time"] = *end_time_ms;
  call("runs/update", body);
}

bool TrackingClient::has_artifact_proxy(const std::string& artifact_uri) {
  // With an authority (mlflow-artifacts://host/...) the artifacts are on another server.
  return artifact_uri.starts_with(kArtifactScheme) && !artifact_uri.starts_with(kArtifactScheme + "/");
}

void TrackingClient::put_artifact(const std::string& artifact_uri, const std::string& path, const std::string& file) {
  const std::string whole = artifact_uri.substr(kArtifactScheme.size()) + "/" + path;
  const HttpResponse response =
      http_.put_file("/api/2.0/mlflow-artifacts/artifacts/" + encode_for_uri(whole, "/"), file);
  check_status(response, Json::parse(response.body, nullptr, /*allow_exceptions=*/false));
}

}  // namespace mlflow
