#include "framework/reporting/report/find_normalisations.h"

#include <nlohmann/json.hpp>

#include "framework/pipeline/tools/export_metadata.h"

namespace tenon::reporting {

namespace {

using Json = nlohmann::ordered_json;

// Reads one number or a list of them. Returns nothing for another value.
std::vector<double> read_numbers(const Json& step, const char* key) {
  std::vector<double> numbers;
  const auto found = step.find(key);
  if (found == step.end()) return numbers;
  if (found->is_number()) return {found->get<double>()};
  if (!found->is_array()) return numbers;
  for (const Json& one : *found)
    if (one.is_number()) numbers.push_back(one.get<double>());
  return numbers;
}

}  // namespace

artifacts::Normalisations find_normalisations(const config::RunPlan& plan, const components::Dataset& data) {
  artifacts::Normalisations found;
  for (const components::SampleField& field : data.fields()) {
    const Json steps = Json::parse(pipeline::format_field_steps(plan, data, field.name), nullptr, false);
    if (!steps.is_array()) continue;
    size_t count = 0;
    artifacts::Normalisation last;
    for (const Json& step : steps) {
      if (!step.is_object() || step.value("name", Json()) != "normalize") continue;
      ++count;
      last = {read_numbers(step, "mean"), read_numbers(step, "std")};
    }
    if (count == 1 && !last.mean.empty() && !last.std.empty()) found[field.name] = last;
  }
  return found;
}

}  // namespace tenon::reporting
