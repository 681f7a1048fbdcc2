#include "plugins/callbacks/mlflow/server_settings.h"

#include <cstdlib>
#include <tenon/error.hpp>

namespace mlflow {

namespace {

std::string check_uri(std::string uri, const std::string& source) {
  const size_t scheme_end = uri.find("://");
  const std::string scheme = uri.substr(0, scheme_end == std::string::npos ? uri.find(':') : scheme_end);
  if (scheme_end == std::string::npos || (scheme != "http" && scheme != "https")) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       source + " has the scheme \"" + scheme.substr(0, 20) +
                           "\"; expected the http:// or https:// address of a tracking server, such as "
                           "\"http://127.0.0.1:5000\" for the command `mlflow server`");
  }
  const size_t host = scheme_end + 3;
  const std::string authority = uri.substr(host, uri.find_first_of("/?#", host) - host);
  // The URI itself is not shown.
  if (authority.find('@') != std::string::npos) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       source +
                           " contains a user or a password, which would be written to plan.toml and logs; remove it "
                           "from the URI and set the environment variables MLFLOW_TRACKING_USERNAME and "
                           "MLFLOW_TRACKING_PASSWORD");
  }
  if (authority.empty() || uri.find_first_of("?# \t\r\n") != std::string::npos) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, source +
                                                   " is not the address of a server; expected a host and no "
                                                   "query, such as \"http://127.0.0.1:5000\"");
  }
  while (uri.ends_with('/')) uri.pop_back();
  return uri;
}

double read_timeout() {
  const std::string text = read_environment("MLFLOW_HTTP_REQUEST_TIMEOUT");
  if (text.empty()) return ServerSettings().timeout_s;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(seconds > 0) || !(seconds <= 86400)) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "MLFLOW_HTTP_REQUEST_TIMEOUT is \"" + text +
                                                   "\"; expected a number of seconds above 0, such as 120");
  }
  return seconds;
}

}  // namespace

std::string read_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

ServerSettings read_server_settings(const std::string& tracking_uri) {
  ServerSettings settings;
  if (!tracking_uri.empty()) {
    settings.uri = check_uri(tracking_uri, "params.tracking_uri");
  } else if (const std::string uri = read_environment("MLFLOW_TRACKING_URI"); !uri.empty()) {
    settings.uri = check_uri(uri, "the environment variable MLFLOW_TRACKING_URI");
  }
  settings.user = read_environment("MLFLOW_TRACKING_USERNAME");
  settings.password = read_environment("MLFLOW_TRACKING_PASSWORD");
  settings.token = read_environment("MLFLOW_TRACKING_TOKEN");
  if (settings.token.find_first_of("\r\n") != std::string::npos) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "MLFLOW_TRACKING_TOKEN has several lines; expected one");
  }
  settings.certificate = read_environment("MLFLOW_TRACKING_SERVER_CERT_PATH");
  const std::string insecure = read_environment("MLFLOW_TRACKING_INSECURE_TLS");
  settings.verifies_tls = insecure.empty() || insecure == "false" || insecure == "0";
  settings.timeout_s = read_timeout();
  return settings;
}

}  // namespace mlflow
