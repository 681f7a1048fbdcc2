// Tests that a sender delivers a queue to a tracking server that fails in many ways.
#include "plugins/callbacks/mlflow/sender.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/mlflow/fake_tracking_server.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using namespace mlflow;
using tenon::test::Failure;
using tenon::test::FakeTrackingServer;
using Kind = Failure::Kind;

namespace {

constexpr SenderOptions kFast{std::chrono::milliseconds(5), std::chrono::milliseconds(20)};
constexpr std::chrono::seconds kLongest{60};         // a test ends long before
constexpr std::chrono::milliseconds kShortest{300};  // for what is not sent at all

// The queue of a run, and the warnings about it.
class LoggedRun {
 public:
  LoggedRun() : queue_(std::make_unique<Queue>(folder())) { setenv("no_proxy", "*", 1); }
  static std::string folder() { return tenon::test_folder().string(); }

  void add(const Json& line) { REQUIRE(queue_->append(line.dump())); }
  void add_start() {
    add({{"kind", "run"},
         {"id", "0123"},
         {"experiment", "digits"},
         {"experiment_id", ""},
         {"name", "a run"},
         {"time", 1000},
         {"tags", {{"mlflow.user", "me"}}}});
    add({{"kind", "settings"}, {"settings", {{"optimizer.lr", "0.1"}, {"loss.0.name", "ce"}}}});
  }
  void add_values(int64_t step, const std::vector<std::pair<std::string, Json>>& named) {
    Json values = Json::array();
    for (const auto& [name, value] : named) values.push_back(Json::array({name, value}));
    add({{"kind", "values"}, {"event", "step"}, {"step", step}, {"time", 2000 + step}, {"values", values}});
  }
  // A run of some steps.
  void add_run(int64_t steps) {
    add_start();
    for (int64_t step = 1; step <= steps; ++step) add_values(step, {{"train/loss", 1.0 / static_cast<double>(step)}});
    add({{"kind", "status"}, {"status", "FINISHED"}, {"time", 3000}});
  }

  // Returns whether everything was sent.
  bool send(const ServerSettings& settings, std::chrono::milliseconds longest = kLongest) {
    Sender sender(
        settings, folder(), *queue_, [this](const std::string& text) { warnings.push_back(text); }, kFast);
    return sender.finish(longest);
  }
  bool send(const FakeTrackingServer& server, std::chrono::milliseconds longest = kLongest) {
    ServerSettings settings;
    settings.uri = server.uri();
    settings.timeout_s = 0.3;
    return send(settings, longest);
  }

  Queue& queue() { return *queue_; }
  bool warns_of(const std::string& part) const {
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const auto& text) { return text.find(part) != text.npos; });
  }
  std::vector<std::string> warnings;

 private:
  std::unique_ptr<Queue> queue_;
};

// The only run on the server, with all values of LoggedRun::add_run().
void check_complete(const FakeTrackingServer& server, size_t steps) {
  REQUIRE(server.runs.size() == 1);
  const FakeTrackingServer::Run& run = server.runs.begin()->second;
  CHECK(run.metrics.size() == steps);
  for (size_t step = 1; step <= steps; ++step)
    CHECK(run.metrics.count({"train/loss", static_cast<int64_t>(step), 2000 + static_cast<int64_t>(step),
                             nlohmann::json(1.0 / static_cast<double>(step)).dump()}) == 1);
  CHECK(run.params == std::map<std::string, std::string>{{"optimizer.lr", "0.1"}, {"loss.0.name", "ce"}});
  CHECK(run.statuses.back() == "FINISHED");
}

size_t count_requests(const FakeTrackingServer& server, const std::string& path) {
  return static_cast<size_t>(std::count_if(server.requests.begin(), server.requests.end(), [&](const auto& request) {
    return request.path.find(path) != std::string::npos;
  }));
}

}  // namespace

TEST_CASE("a run arrives with its experiment, name, tags, settings, values and status") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(3);
  CHECK(run.send(server));
  check_complete(server, 3);
  CHECK(server.experiments.count("digits") == 1);
  CHECK(server.runs.begin()->second.name == "a run");
  CHECK(server.runs.begin()->second.tags.at("tenon.run") == "0123");
  CHECK(server.runs.begin()->second.tags.at("mlflow.user") == "me");
  CHECK(run.warnings.empty());
  CHECK(count_requests(server, "runs/log-batch") == 2);  // the settings, and the values of three lines together
  // What was sent is not sent again, also by another process.
  server.requests.clear();
  CHECK(run.send(server));
  CHECK(server.requests.empty());
}

TEST_CASE("a request without a useful answer is repeated, and nothing is lost or logged twice") {
  const std::vector<std::vector<Failure>> cases = {
      {{Kind::status, 500, "{\"error_code\": \"INTERNAL_ERROR\"}"}, {Kind::status, 503, "<html>"}},
      {{Kind::status, 429, "", "Retry-After: 0.01"}, {Kind::status, 429, "", "Retry-After: Wed, 21 Oct 2026"}},
      {{Kind::status, 200, "<html>a login page</html>"}, {Kind::status, 200, "{"}, {Kind::status, 200, ""}},
      {{Kind::status, 200, "[]"}, {Kind::status, 404, "<html>the server starts</html>"}, {Kind::status, 302, ""}},
      {{Kind::closes}, {Kind::closes}, {Kind::closes}},
      {{Kind::hangs}},
  };
  for (const std::vector<Failure>& failures : cases) {
    // The failures begin at the first request, and at each later one.
    for (size_t before = 0; before < 6; ++before) {
      CAPTURE(before);
      FakeTrackingServer server;
      fs::remove_all(fs::path(LoggedRun::folder()) / "mlflow");
      LoggedRun run;
      run.add_run(2);
      size_t seen = 0;
      // The function may be called only by the server's thread.
      server.refuse = [&](const auto&) {
        if (seen++ == before) return std::pair<int, std::string>{503, ""};
        return std::pair<int, std::string>{0, ""};
      };
      server.fail_next(failures);
      CHECK(run.send(server));
      check_complete(server, 2);
      CHECK(run.warnings.size() == 2);  // once that the server is away, and once that it is back
      CHECK(run.warns_of("is sent later"));
      CHECK(run.warns_of("answers again"));
    }
  }
}

TEST_CASE("a request with a lost answer is repeated, and its run and values are there once") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(5);
  server.fail_next(std::vector<Failure>(12, {Kind::loses_answer}));
  CHECK(run.send(server));
  check_complete(server, 5);
  CHECK(count_requests(server, "runs/create") == 1);
}

TEST_CASE("an incomplete answer with a wrong type is not taken for a run") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(1);
  server.experiments["digits"] = "7";
  const std::string found = "{\"experiment\": {\"experiment_id\": \"7\"}}";
  server.fail_next({{Kind::status, 200, "{\"experiment\": {\"experiment_id\": 7}}"},
                    {Kind::status, 200, found},
                    {Kind::status, 200, "{\"runs\": [{}]}"},
                    {Kind::status, 200, found},
                    {Kind::status, 200, "{\"runs\": 5}"},
                    {Kind::status, 200, "{\"run\": null}"}});
  CHECK(run.send(server));
  check_complete(server, 1);
}

TEST_CASE("many values and settings are divided into the requests that MLflow allows") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_start();
  Json settings = Json::object();
  for (int i = 0; i < 250; ++i) settings["key" + std::to_string(i)] = "value";
  run.add({{"kind", "settings"}, {"settings", settings}});
  std::vector<std::pair<std::string, Json>> values;
  for (int i = 0; i < 2500; ++i) values.emplace_back("m" + std::to_string(i), i);
  run.add_values(1, values);
  for (int64_t step = 2; step < 1500; ++step) run.add_values(step, {{"m0", step}});
  CHECK(run.send(server));
  CHECK(server.runs.begin()->second.metrics.size() == 2500 + 1498);
  CHECK(server.runs.begin()->second.params.size() == 252);
  CHECK(server.most_metrics <= 1000);
  CHECK(server.most_params <= 100);
  CHECK(count_requests(server, "runs/log-batch") < 20);
}

TEST_CASE("an entry that the server refuses is skipped with one warning, and the others arrive") {
  FakeTrackingServer server;
  server.refuse = [](const auto& request) -> std::pair<int, std::string> {
    const bool is_wrong = request.body.find("bad") != std::string::npos;
    return {is_wrong ? 400 : 0, R"({"error_code": "INVALID_PARAMETER_VALUE", "message": "Invalid value"})"};
  };
  LoggedRun run;
  run.add_start();
  for (int64_t step = 1; step <= 7; ++step) run.add_values(step, {{step == 3 || step == 6 ? "bad" : "good", step}});
  CHECK(run.send(server));
  CHECK(server.runs.begin()->second.metrics.size() == 5);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warns_of("refuses metrics \"bad\": HTTP status 400: Invalid value; it is skipped"));
}

TEST_CASE("a setting that is too long for an older server is shortened") {
  FakeTrackingServer server;
  server.refuse = [](const auto& request) -> std::pair<int, std::string> {
    return {request.body.find(std::string(501, 'x')) == std::string::npos ? 0 : 400, "{\"error_code\": \"X\"}"};
  };
  LoggedRun run;
  run.add_start();
  run.add({{"kind", "settings"}, {"settings", {{"short", "y"}, {"long", std::string(3000, 'x')}}}});
  CHECK(run.send(server));
  CHECK(server.runs.begin()->second.params.at("long") == std::string(500, 'x'));
  CHECK(server.runs.begin()->second.params.at("short") == "y");
  CHECK(run.warnings.empty());
}

TEST_CASE("refused credentials end the attempts, and later ones send everything") {
  FakeTrackingServer server;
  bool is_refused = true;
  server.refuse = [&](const auto&) -> std::pair<int, std::string> {
    return {is_refused ? 401 : 0, "You are not authenticated"};
  };
  LoggedRun run;
  run.add_run(2);
  CHECK_FALSE(run.send(server));
  CHECK(server.requests.size() == 1);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warns_of("HTTP status 401: You are not authenticated"));
  is_refused = false;
  CHECK(run.send(server));
  check_complete(server, 2);
}

TEST_CASE("user and password, or a token, are sent with each request and written nowhere") {
  for (const bool has_user : {true, false}) {
    FakeTrackingServer server;
    fs::remove_all(fs::path(LoggedRun::folder()) / "mlflow");
    LoggedRun run;
    run.add_run(1);
    ServerSettings settings;
    settings.uri = server.uri();
    settings.token = "secret-token";
    if (has_user) settings.user = "user", settings.password = "secret-password";
    CHECK(run.send(settings));
    const std::string expected =
        has_user ? "Basic dXNlcjpzZWNyZXQtcGFzc3dvcmQ=" : "Bearer secret-token";  // base64 of user:secret-password
    for (const auto& request : server.requests) CHECK(request.headers.at("authorization") == expected);
    for (const auto& entry : fs::directory_iterator(fs::path(LoggedRun::folder()) / "mlflow")) {
      std::ifstream stream(entry.path());
      const std::string text((std::istreambuf_iterator<char>(stream)), {});
      CHECK(text.find("secret") == std::string::npos);
    }
  }
}

TEST_CASE("a server that is away gets everything when it is back") {
  LoggedRun run;
  run.add_run(4);
  const tenon::test::ReservedPort port;
  ServerSettings settings;
  settings.uri = "http://127.0.0.1:" + std::to_string(port.number());
  CHECK_FALSE(run.send(settings, kShortest));
  CHECK(run.warnings.size() == 1);
  run.add_values(5, {{"train/loss", 0.2}});
  const FakeTrackingServer server(port.number());
  CHECK(run.send(server));
  check_complete(server, 5);
}

TEST_CASE("an answer that nests deeply or has very many keys is not taken for a run") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(1);
  server.experiments["digits"] = "7";
  const size_t deep = 1'000'000;
  std::string keys;
  for (size_t i = 0; keys.size() < 3'000'000; ++i) keys += "\"" + std::to_string(i) + "\":1,";
  server.fail_next({{Kind::status, 200, "{\"experiment\":" + std::string(deep, '[') + std::string(deep, ']') + '}'},
                    {Kind::status, 200, '{' + keys + "\"experiment\":1}"}});
  CHECK(run.send(server));
  check_complete(server, 1);
}

TEST_CASE("a sender that hangs in a request ends when its time is over") {
  FakeTrackingServer server;
  server.fail_next({{Kind::hangs}});
  LoggedRun run;
  run.add_run(1);
  ServerSettings settings;  // with the long limit of MLflow for a request
  settings.uri = server.uri();
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(run.send(settings, kShortest));
  CHECK(std::chrono::steady_clock::now() - start < kLongest);
  CHECK(run.send(settings));
  check_complete(server, 1);
}

TEST_CASE("a sender that was stopped in the middle continues after what was acknowledged") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(3);
  CHECK(run.send(server));
  const size_t creations = count_requests(server, "runs/create");
  for (int64_t step = 4; step <= 6; ++step) run.add_values(step, {{"train/loss", 1.0 / static_cast<double>(step)}});
  server.requests.clear();
  CHECK(run.send(server));
  check_complete(server, 6);
  CHECK(creations == 1);
  CHECK(server.requests.size() == 1);
  // Without the file of what was sent, the run is found again, and what is sent twice is there once.
  fs::remove(fs::path(LoggedRun::folder()) / "mlflow/sent.json");
  CHECK(run.send(server));
  check_complete(server, 6);
}

TEST_CASE("another server gets the whole run") {
  LoggedRun run;
  run.add_run(3);
  const FakeTrackingServer first;
  CHECK(run.send(first));
  const FakeTrackingServer second;
  CHECK(run.send(second));
  check_complete(second, 3);
}

TEST_CASE("a run that the server has lost ends the attempts with what to do") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_run(1);
  CHECK(run.send(server));
  server.runs.clear();
  run.add_values(2, {{"train/loss", 0.5}});
  CHECK_FALSE(run.send(server));
  CHECK(run.warns_of("to log everything to a new run, remove " + LoggedRun::folder() + "/mlflow/sent.json"));
  fs::remove(fs::path(LoggedRun::folder()) / "mlflow/sent.json");
  CHECK(run.send(server));
  check_complete(server, 2);
}

TEST_CASE("artifacts are sent to a server that takes them, and otherwise there is one warning") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_start();
  std::ofstream(tenon::test_folder() / "plan.toml") << "[run]\n";
  fs::create_directory(tenon::test_folder() / "plots");
  std::ofstream(tenon::test_folder() / "plots/a b.svg") << std::string(1 << 20, 's');
  for (const char* path : {"plan.toml", "plots/a b.svg", "absent.txt"}) run.add({{"kind", "artifact"}, {"path", path}});
  CHECK(run.send(server));
  const auto& artifacts = server.runs.begin()->second.artifacts;
  CHECK(artifacts.size() == 2);
  CHECK(artifacts.at("plan.toml") == "[run]\n");
  CHECK(artifacts.at("plots/a%20b.svg") == std::string(1 << 20, 's'));
  CHECK(run.warnings.empty());

  FakeTrackingServer other;
  other.artifact_root = "s3://bucket/0/";
  CHECK(run.send(other));
  CHECK(run.warnings.size() == 1);
  CHECK(
      run.warns_of("artifacts are not sent: they belong to s3://bucket/0/run-0/artifacts; expected "
                   "mlflow-artifacts:"));
}

TEST_CASE("values that are not finite, and lines that cannot be read, do not stop the others") {
  FakeTrackingServer server;
  LoggedRun run;
  run.add_start();
  run.add_values(1, {{"a", "NaN"}, {"b", "-Infinity"}});
  REQUIRE(run.queue().append("{\"kind\": \"values\""));
  REQUIRE(run.queue().append("{\"kind\": \"values\", \"step\": 2}"));
  run.add_values(3, {{"a", 0.5}});
  CHECK(run.send(server));
  const auto& metrics = server.runs.begin()->second.metrics;
  CHECK(metrics.size() == 3);
  CHECK(metrics.count({"a", 1, 2001, "\"NaN\""}) == 1);
  CHECK(metrics.count({"a", 3, 2003, "0.5"}) == 1);
  CHECK(run.warns_of("has a line that cannot be read"));
}

TEST_CASE("a sender sends lines while they are added, and without a limit as long as the server takes them") {
  FakeTrackingServer server;
  LoggedRun run;
  ServerSettings settings;
  settings.uri = server.uri();
  Sender sender(
      settings, LoggedRun::folder(), run.queue(), [](const std::string&) {}, kFast);
  run.add_start();
  for (int64_t step = 1; step <= 50; ++step) {
    run.add_values(step, {{"train/loss", 1.0 / static_cast<double>(step)}});
    sender.notify();
    if (step % 10 == 0) sender.request_queue_sync();
  }
  run.add({{"kind", "status"}, {"status", "FINISHED"}, {"time", 3000}});
  CHECK(sender.finish_without_limit(kLongest));
  check_complete(server, 50);
}
