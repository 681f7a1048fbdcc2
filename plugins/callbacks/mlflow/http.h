// HTTP requests through libcurl.
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>

#include "plugins/callbacks/mlflow/server_settings.h"

namespace mlflow {

// The request got no answer, or one that a later request may not get. It can be sent again.
class Unavailable : public std::runtime_error {
 public:
  explicit Unavailable(const std::string& reason, double retry_after_s = 0)
      : std::runtime_error(reason), retry_after_s_(retry_after_s) {}
  double retry_after_s() const { return retry_after_s_; }  // as the server requests; 0: it does not

 private:
  double retry_after_s_;
};

struct HttpResponse {
  long status = 0;
  std::string body;
  double retry_after_s = 0;
};

class Http {
 public:
  // A request ends soon after `is_cancelled` becomes true. Both must outlive this object. Throws tenon::Error if
  // libcurl cannot be loaded.
  Http(const ServerSettings& settings, const std::atomic<bool>& is_cancelled);

  // `path` follows the URI of the server and is encoded. `body`: JSON for POST; none: GET. Throws Unavailable if no
  // answer arrived.
  HttpResponse request(const std::string& path, const std::optional<std::string>& body);

  // Sends a file with PUT, without reading all of it at once. Throws Unavailable, and std::runtime_error if the file
  // cannot be read.
  HttpResponse put_file(const std::string& path, const std::string& file);

 private:
  const ServerSettings& settings_;
  const std::atomic<bool>& is_cancelled_;
};

// Encodes a text for a URI. `kept`: additional characters that stay, such as the slashes of a path.
std::string encode_for_uri(const std::string& text, const std::string& kept = "");

}  // namespace mlflow
