#include "host/data/check_data.h"

#include <algorithm>

#include "framework/components/kinds/loss.h"

namespace tenon::host {

namespace {

// Null if the input reads no field of class numbers, or if the model decides.
const components::SampleField* find_field(const components::Port& port, const config::ComponentPlan& loss,
                                          const std::vector<components::SampleField>& fields) {
  std::vector<std::string> names{port.name};
  names.insert(names.end(), port.usual_sources.begin(), port.usual_sources.end());
  const auto given = loss.inputs.find(port.name);
  if (given != loss.inputs.end()) names = {given->second};
  for (const std::string& name : names)
    for (const components::SampleField& field : fields)
      if (field.is_integer() && (name == "data." + field.name || (given == loss.inputs.end() && name == field.name)))
        return &field;
  constexpr auto kIsInteger = &components::SampleField::is_integer;
  const bool is_only = given == loss.inputs.end() && std::ranges::count_if(fields, kIsInteger) == 1;
  return is_only ? &*std::ranges::find_if(fields, kIsInteger) : nullptr;
}

int64_t count_model_classes(const config::Values& params) {
  const auto classes = params.find("classes");
  const auto* const count = classes == params.end() ? nullptr : std::get_if<int64_t>(&classes->second);
  return count ? std::max<int64_t>(*count, 0) : 0;
}

}  // namespace

std::map<std::string, ClassTarget> find_class_targets(const OpenedRunFile& run,
                                                      const std::vector<components::SampleField>& fields) {
  std::map<std::string, ClassTarget> targets;
  for (const config::LossPlan& plan : run.plan.losses) {
    const components::Loss loss(run.catalogue.find(config::ComponentKind::loss, plan.use), plan);
    for (const components::Port& port : loss.inputs()) {
      if (!port.indices || !port.indices->dimension) continue;
      const components::SampleField* const field = find_field(port, plan, fields);
      if (!field) continue;
      const ClassTarget found{count_model_classes(run.plan.model.params), port.indices->ignore_index};
      const auto [known, is_new] = targets.emplace(field->name, found);
      if (!is_new && known->second.ignored != found.ignored) known->second.ignored.reset();
    }
  }
  return targets;
}

}  // namespace tenon::host
