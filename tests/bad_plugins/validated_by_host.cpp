#include <nlohmann/json.hpp>

#include "tests/bad_plugins/validated.h"
#include "tests/end_to_end/hosted_run.h"

namespace tenon::bad_plugins {

Answer validate_by_host(const std::string& file, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"validate", file, "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const end_to_end::Outcome outcome = end_to_end::run_host(words);
  Answer answer{outcome.exit_code, {}, {}, {}, outcome.output + outcome.errors};
  const auto all = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object()) return answer;
  for (const auto& check : all["checks"]) {
    const std::string name = check["component"].get<std::string>() + " " + check["check"].get<std::string>();
    answer.statuses[name] = check["result"];
    answer.reasons[name] = check["reason"];
    answer.outputs[name] = check["output"];
  }
  return answer;
}

}  // namespace tenon::bad_plugins
