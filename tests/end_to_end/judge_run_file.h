// Run files judged by the JSON schema that `host schema` prints, with valijson.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>

namespace tenon::end_to_end {

// What `host schema` prints; fails the test if it does not.
nlohmann::json read_schema_of_host();

// Throws toml::parse_error.
nlohmann::json read_toml(const std::string& text);

class RunFileJudge {
 public:
  explicit RunFileJudge(nlohmann::json schema = read_schema_of_host());

  // "" or what is wrong.
  std::string judge(const nlohmann::json& document);

 private:
  nlohmann::json text_;
  valijson::Schema schema_;
};

}  // namespace tenon::end_to_end
