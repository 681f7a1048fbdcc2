#include "tests/mlflow/fake_tracking_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tenon::test {

using nlohmann::json;

namespace {

const std::string kApi = "/api/2.0/mlflow/";
const std::string kArtifacts = "/api/2.0/mlflow-artifacts/artifacts/";

// Returns false if the connection ends before the request does.
bool receive(int connection, ReceivedRequest& request) {
  std::string text;
  size_t head_end = std::string::npos;
  size_t length = 0;
  char block[65536];
  for (;;) {
    if (head_end != std::string::npos && text.size() >= head_end + 4 + length) break;
    const ssize_t count = recv(connection, block, sizeof block, 0);
    if (count <= 0) return false;
    text.append(block, static_cast<size_t>(count));
    if (head_end != std::string::npos) continue;
    head_end = text.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    const std::string head = text.substr(0, head_end + 2);
    request.method = head.substr(0, head.find(' '));
    const size_t path = request.method.size() + 1;
    request.path = head.substr(path, head.find(' ', path) - path);
    for (size_t at = head.find("\r\n") + 2; at < head.size(); at = head.find("\r\n", at) + 2) {
      const size_t colon = head.find(':', at), end = head.find("\r\n", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = head.substr(colon + 2, end - colon - 2);
    }
    if (request.headers.count("content-length")) length = std::stoul(request.headers["content-length"]);
  }
  request.body = text.substr(head_end + 4, length);
  return true;
}

void send_all(int connection, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

std::pair<int, std::string> refusal(int status, const std::string& code) {
  return {status, json{{"error_code", code}, {"message", "the fake server refuses this"}}.dump()};
}

// Binds to `port`, 0 for a free one, and returns the port. Two sockets may have the same port until both listen.
int bind_to(int socket, int port) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the fake tracking server cannot bind to a port of loopback");
  return ntohs(address.sin_port);
}

}  // namespace

ReservedPort::ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), number_(bind_to(socket_, 0)) {}

ReservedPort::~ReservedPort() { close(socket_); }

FakeTrackingServer::FakeTrackingServer(int port) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  port_ = bind_to(listener_, port);
  if (listen(listener_, 16) != 0) throw std::runtime_error("the fake tracking server cannot listen on loopback");
  thread_ = std::thread([this] { serve(); });
}

FakeTrackingServer::~FakeTrackingServer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  shutdown(listener_, SHUT_RDWR);  // ends accept()
  thread_.join();
  close(listener_);
}

void FakeTrackingServer::fail_next(std::vector<Failure> failures) {
  const std::lock_guard lock(mutex_);
  failures_.assign(failures.begin(), failures.end());
}

void FakeTrackingServer::serve() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    serve_connection(connection);
    close(connection);
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
  }
}

void FakeTrackingServer::serve_connection(int connection) {
  ReceivedRequest request;
  if (!receive(connection, request)) return;
  const std::lock_guard lock(mutex_);
  requests.push_back(request);
  std::pair<int, std::string> answered;
  std::string header;
  if (failures_.empty()) {
    answered = answer(request);
  } else {
    const Failure failure = failures_.front();
    failures_.pop_front();
    if (failure.kind == Failure::Kind::closes) return;
    if (failure.kind == Failure::Kind::loses_answer) {
      answer(request);
      return;
    }
    if (failure.kind == Failure::Kind::hangs) {
      char byte;
      static_cast<void>(recv(connection, &byte, 1, 0));  // until the client closes the connection
      return;
    }
    answered = {failure.status, failure.body};
    header = failure.header.empty() ? "" : failure.header + "\r\n";
  }
  send_all(connection, "HTTP/1.1 " + std::to_string(answered.first) +
                           " status\r\nContent-Length: " + std::to_string(answered.second.size()) + "\r\n" + header +
                           "Connection: close\r\n\r\n" + answered.second);
}

std::pair<int, std::string> FakeTrackingServer::answer(const ReceivedRequest& request) {
  if (refuse) {
    const auto refused = refuse(request);
    if (refused.first != 0) return refused;
  }
  if (request.method == "PUT" && request.path.starts_with(kArtifacts)) {
    const std::string path = request.path.substr(kArtifacts.size());  // "0/run-0/artifacts/plan.toml"
    const size_t run = path.find('/') + 1, name = path.find("/artifacts/");
    runs[path.substr(run, name - run)].artifacts[path.substr(name + 11)] = request.body;
    return {200, "{}"};
  }
  if (!request.path.starts_with(kApi)) return {404, "<html>not found</html>"};
  const std::string path = request.path.substr(kApi.size());
  if (path.starts_with("experiments/get-by-name?experiment_name=")) {
    const auto found = experiments.find(path.substr(path.find('=') + 1));
    if (found == experiments.end()) return refusal(404, "RESOURCE_DOES_NOT_EXIST");
    return {200, json{{"experiment", {{"experiment_id", found->second}, {"lifecycle_stage", "active"}}}}.dump()};
  }
  const json body = json::parse(request.body);
  const auto describe_run = [&](const std::string& id) {
    return json{{"info",
                 {{"run_id", id},
                  {"experiment_id", runs[id].experiment_id},
                  {"artifact_uri", artifact_root + id + "/artifacts"}}}};
  };
  if (path == "experiments/create") {
    const std::string id = std::to_string(experiments.size());
    experiments[body.at("name")] = id;
    return {200, json{{"experiment_id", id}}.dump()};
  }
  if (path == "runs/search") {
    for (const auto& [id, run] : runs)
      if (body.at("filter") == "tags.`tenon.run` = '" + run.tags.at("tenon.run") + "'")
        return {200, json{{"runs", {describe_run(id)}}}.dump()};
    return {200, "{}"};
  }
  if (path == "runs/create") {
    const std::string id = "run-" + std::to_string(runs.size());
    Run& run = runs[id];
    run.experiment_id = body.at("experiment_id");
    run.name = body.at("run_name");
    for (const json& tag : body.at("tags")) run.tags[tag.at("key")] = tag.at("value");
    return {200, json{{"run", describe_run(id)}}.dump()};
  }
  if (!runs.count(body.at("run_id"))) return refusal(404, "RESOURCE_DOES_NOT_EXIST");
  if (path == "runs/update") {
    runs.at(body.at("run_id")).statuses.push_back(body.at("status"));
    return {200, "{}"};
  }
  if (path == "runs/log-batch") return answer_batch(body);
  return refusal(404, "ENDPOINT_NOT_FOUND");
}

std::pair<int, std::string> FakeTrackingServer::answer_batch(const json& body) {
  Run& run = runs.at(body.at("run_id"));
  const json metrics = body.value("metrics", json::array()), params = body.value("params", json::array());
  most_metrics = std::max(most_metrics, metrics.size());
  most_params = std::max(most_params, params.size());
  for (const json& metric : metrics)
    run.metrics.emplace(metric.at("key"), metric.at("step"), metric.at("timestamp"), metric.at("value").dump());
  for (const json& param : params) run.params[param.at("key")] = param.at("value");
  for (const json& tag : body.value("tags", json::array())) run.tags[tag.at("key")] = tag.at("value");
  return {200, "{}"};
}

}  // namespace tenon::test
