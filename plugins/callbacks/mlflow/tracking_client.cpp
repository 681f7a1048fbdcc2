#include "plugins/callbacks/mlflow/tracking_client.h"

#include <algorithm>
#include <utility>

#include "plugins/json_depth.h"

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

// Returns a discarded value for text that is not JSON of a tracking server. Its answers nest a few levels deep.
Answer parse_answer(const std::string& body) {
  constexpr int kMostLevels = 50;
  if (plugins::is_nested_deeper(body, kMostLevels)) return Answer(Answer::value_t::discarded);
  return Answer::parse(body, nullptr, /*allow_exceptions=*/false);
}

std::string text_of(const Answer& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Throws unless the answer is a success.
void check_status(const HttpResponse& response, const Answer& json) {
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

OpenedRun read_run(const Answer& answer, const Answer& run) {
  const Answer info = run.is_object() ? run.value("info", Answer()) : Answer();
  OpenedRun opened{text_of(info, "experiment_id"), text_of(info, "run_id"), text_of(info, "artifact_uri")};
  if (opened.run_id.empty()) throw Unavailable("the answer has no run: " + show(answer.dump()));
  return opened;
}

}  // namespace

Answer TrackingClient::call(const std::string& path, const std::optional<Json>& body) {
  // Invalid UTF-8 in a name is replaced, not an error.
  const HttpResponse response = http_.request(
      kApi + path, body ? std::optional(body->dump(-1, ' ', false, Json::error_handler_t::replace)) : std::nullopt);
  Answer json = parse_answer(response.body);
  check_status(response, json);
  if (!json.is_object()) throw Unavailable("the answer is not JSON of a tracking server: " + show(response.body));
  return json;
}

std::string TrackingClient::find_experiment(const RunStart& start) {
  if (!start.experiment_id.empty()) return start.experiment_id;
  const std::string query = "experiments/get-by-name?experiment_name=" + encode_for_uri(start.experiment);
  const auto find = [&] {
    const Answer answer = call(query, std::nullopt);
    const Answer experiment = answer.value("experiment", Answer());
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
    const Answer answer = call("experiments/create", Json{{"name", start.experiment}});
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
  const Answer found = call("runs/search", Json{{"experiment_ids", {experiment_id}},
                                                {"filter", std::string("tags.`") + kRunTag + "` = '" + start.id + "'"},
                                                {"max_results", 1}});
  const Answer runs = found.value("runs", Answer::array());
  if (runs.is_array() && !runs.empty()) return read_run(found, runs.front());

  Json tags = {{{"key", kRunTag}, {"value", start.id}}, {{"key", "mlflow.runName"}, {"value", start.name}}};
  std::string user;
  for (const Tag& tag : start.tags) {
    tags.push_back({{"key", tag.key}, {"value", tag.value}});
    if (tag.key == "mlflow.user") user = tag.value;
  }
  const Answer created = call("runs/create", Json{{"experiment_id", experiment_id},
                                                  {"user_id", user},
                                                  {"run_name", start.name},
                                                  {"start_time", start.time_ms},
                                                  {"tags", tags}});
  return read_run(created, created.value("run", Answer()));
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
  check_status(response, parse_answer(response.body));
}

}  // namespace mlflow
