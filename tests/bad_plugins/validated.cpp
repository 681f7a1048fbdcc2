#include "tests/bad_plugins/validated.h"

#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace tenon::bad_plugins {

std::vector<std::string> Answer::with(const std::string& verdict) const {
  std::vector<std::string> names;
  for (const auto& [name, found] : verdicts)
    if (found == verdict) names.push_back(name);
  return names;
}

Answer validate(const std::string& file, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"validate", file, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const end_to_end::Outcome outcome = end_to_end::run_host(arguments);
  Answer answer{outcome.exit_code, {}, {}, {}, outcome.output + outcome.errors};
  const auto all = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object()) return answer;
  for (const auto& check : all["checks"]) {
    const std::string name = check["component"].get<std::string>() + " " + check["check"].get<std::string>();
    answer.verdicts[name] = check["verdict"];
    answer.reasons[name] = check["reason"];
    answer.outputs[name] = check["output"];
  }
  return answer;
}

}  // namespace tenon::bad_plugins
