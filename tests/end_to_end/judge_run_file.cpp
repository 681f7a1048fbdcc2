#include "tests/end_to_end/judge_run_file.h"

#include <toml++/toml.h>

#include <doctest/doctest.h>

#include <sstream>
#include <utility>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace tenon::end_to_end {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

json read_schema_of_host() {
  const Outcome outcome = require_success(run_host({"schema"}));
  return json::parse(outcome.output);
}

json read_toml(const std::string& text) {
  std::ostringstream written;
  written << toml::json_formatter(toml::parse(text));
  return json::parse(written.str());
}

RunFileChecker::RunFileChecker(json schema) : text_(std::move(schema)) {
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(NlohmannJsonAdapter(text_), schema_);
}

std::string RunFileChecker::check(const json& document) {
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema_, NlohmannJsonAdapter(document), &results)) return "";
  std::string text = "invalid:";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& place : error.context) text += place;
    text += " " + error.description + "\n";
  }
  return text;
}

}  // namespace tenon::end_to_end
