// Gives arbitrary text as the answers of an MLflow server, one in each line. A wrong answer is refused as Unavailable
// or Refused. A run of an accepted one has an id.
#include <atomic>
#include <charconv>
#include <string>

#include "plugins/callbacks/mlflow/tracking_client.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

std::string_view answers;  // those that were not given yet

}  // namespace

namespace mlflow {

// In place of libcurl.
Http::Http(const ServerSettings& settings, const std::atomic<bool>& is_cancelled)
    : settings_(settings), is_cancelled_(is_cancelled) {}

// "404 {...}"
HttpResponse Http::request(const std::string&, const std::optional<std::string>&) {
  const std::string_view line = tenon::fuzz::take_until(answers, "\n");
  HttpResponse response{200, "", 0};
  const char* const end = line.data() + line.size();
  const char* const body = std::from_chars(line.data(), end, response.status).ptr;
  response.body.assign(body, end);
  return response;
}

HttpResponse Http::put_file(const std::string& path, const std::string&) { return request(path, std::nullopt); }

std::string encode_for_uri(const std::string& text, const std::string&) { return text; }

}  // namespace mlflow

TENON_FUZZ_TARGET(mlflow_answers) {
  answers = tenon::fuzz::as_text(input);
  const mlflow::ServerSettings settings;
  const std::atomic<bool> is_cancelled{false};
  mlflow::TrackingClient client(settings, is_cancelled);
  const auto attempt = [](const auto& request) {
    try {
      request();
    } catch (const mlflow::Unavailable& error) {
      tenon::fuzz::require(*error.what() != '\0');
    } catch (const mlflow::Refused& error) {
      tenon::fuzz::require(*error.what() != '\0');
    }
  };
  while (!answers.empty()) {
    attempt([&] {
      const mlflow::OpenedRun run = client.open_run({"experiment", "", "name", "id", 1, {{"mlflow.user", "user"}}});
      tenon::fuzz::require(!run.run_id.empty());
    });
    attempt([&] { client.log_batch("run", {{"metrics", mlflow::Json::array()}}); });
    attempt([&] { client.update_run("run", "FINISHED", 1); });
    attempt([&] { client.put_artifact("mlflow-artifacts:/1/run/artifacts", "log.txt", "log.txt"); });
  }
}
