// Validates run files with valijson against the JSON schema that `host schema` prints.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>

namespace tenon::end_to_end {

// Returns the output of `host schema`. Fails the test on an error.
nlohmann::json read_schema_of_host();

// Parses TOML. Throws toml::parse_error.
nlohmann::json read_toml(const std::string& text);

class RunFileChecker {
 public:
  explicit RunFileChecker(nlohmann::json schema = read_schema_of_host());

  // Returns "" or the error.
  std::string check(const nlohmann::json& document);

 private:
  nlohmann::json text_;
  valijson::Schema schema_;
};

}  // namespace tenon::end_to_end
