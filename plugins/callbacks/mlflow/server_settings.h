// The tracking server and the credentials, with MLflow's names of environment variables.
#pragma once

#include <string>

namespace mlflow {

struct ServerSettings {
  std::string uri;  // "https://example.org/mlflow", without a slash at the end; empty: none is set
  std::string user;
  std::string password;
  std::string token;        // used without a user and password
  std::string certificate;  // file with the certificates of authorities; empty: those of libcurl
  bool verifies_tls = true;
  double timeout_s = 120;  // of a request without a file
};

// `tracking_uri`: overrides MLFLOW_TRACKING_URI unless empty. Credentials come only from the environment. Throws
// tenon::Error for a URI of another scheme, and for one with a password, which would end in plan.toml and logs.
ServerSettings read_server_settings(const std::string& tracking_uri);

// The variable's value, or empty.
std::string read_environment(const char* name);

}  // namespace mlflow
