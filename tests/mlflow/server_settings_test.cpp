#include "plugins/callbacks/mlflow/server_settings.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <tenon/error.hpp>

using namespace mlflow;

namespace {

std::string refusal_of(const std::string& uri) {
  try {
    read_server_settings(uri);
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the parameter overrides the environment, and credentials come from the environment") {
  setenv("MLFLOW_TRACKING_URI", "https://a.example/mlflow/", 1);
  setenv("MLFLOW_TRACKING_USERNAME", "user", 1);
  setenv("MLFLOW_TRACKING_PASSWORD", "secret", 1);
  setenv("MLFLOW_TRACKING_TOKEN", "token", 1);
  CHECK(read_server_settings("").uri == "https://a.example/mlflow");
  const ServerSettings settings = read_server_settings("http://127.0.0.1:5000");
  CHECK(settings.uri == "http://127.0.0.1:5000");
  CHECK(settings.user == "user");
  CHECK(settings.password == "secret");
  CHECK(settings.token == "token");
  CHECK(settings.verifies_tls);
  setenv("MLFLOW_TRACKING_INSECURE_TLS", "true", 1);
  CHECK_FALSE(read_server_settings("").verifies_tls);
  setenv("MLFLOW_TRACKING_INSECURE_TLS", "false", 1);
  CHECK(read_server_settings("").verifies_tls);
}

TEST_CASE("wrong addresses are refused with what is expected") {
  CHECK(has(refusal_of("file:mlruns"), "params.tracking_uri has the scheme \"file\"; expected the http://"));
  CHECK(has(refusal_of("sqlite:///mlflow.db"), "has the scheme \"sqlite\""));
  CHECK(has(refusal_of("databricks"), "has the scheme \"databricks\""));
  CHECK(has(refusal_of("http://"), "is not the address of a server"));
  CHECK(has(refusal_of("http://a?b=c"), "is not the address of a server"));
  setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "soon", 1);
  CHECK(has(refusal_of("http://a"), "MLFLOW_HTTP_REQUEST_TIMEOUT is \"soon\"; expected a number of seconds"));
}

TEST_CASE("an address with a password is refused without showing it") {
  for (const char* uri : {"http://user:secret@a.example", "https://secret@a.example/x", "https://u:p@secret@a"}) {
    const std::string refused = refusal_of(uri);
    CHECK(has(refused, "contains a user or a password"));
    CHECK_FALSE(has(refused, "secret"));
  }
  CHECK(refusal_of("http://a.example/b@c") == "accepted");
}
