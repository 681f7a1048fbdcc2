#include "framework/components/kinds/field_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/components/calls/ports.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/printable.h"

namespace tenon::components {

namespace {

using nlohmann::json;

bool is_step(const json& step) {
  const auto name = step.find("name");
  return step.is_object() && name != step.end() && name->is_string();
}

bool is_list_of_steps(const std::string& text) {
  const json steps = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return steps.is_array() && std::ranges::all_of(steps, is_step);
}

}  // namespace

std::vector<FieldSteps> read_field_steps(const Component& component, const tenon_preprocessing* const* lists,
                                         uint64_t count, const std::vector<SampleField>& fields) {
  const auto refuse = [&](const std::string& what) {
    throw support::Error(support::ErrorKind::plugin, component.describe() + ", preprocessing.lists: " + what);
  };
  if (count > fields.size() || (count > 0 && !lists))
    refuse("returns " + std::to_string(count) + " lists of steps" + (lists ? "" : ", which are NULL") +
           "; expected at most one for each of the " + std::to_string(fields.size()) + " fields");
  std::vector<FieldSteps> read;
  for (uint64_t i = 0; i < count; ++i) {
    if (!lists[i] || lists[i]->size < TENON_SIZE_TO(tenon_preprocessing, steps))
      refuse("list " + std::to_string(i) + " is null or cut short");
    const std::string name = to_string(lists[i]->field);
    const auto field = std::ranges::find(fields, name, &SampleField::name);
    if (field == fields.end()) refuse("names the field " + name + ", which is not a field of the dataset");
    const auto index = static_cast<size_t>(field - fields.begin());
    if (std::ranges::any_of(read, [&](const FieldSteps& other) { return other.field == index; }))
      refuse("has two lists for the field " + name + "; expected one");
    const std::string steps = to_string(lists[i]->steps);
    if (!is_list_of_steps(steps))
      refuse("the steps of " + name + " are " + support::escape_control_characters(steps) +
             "; expected a JSON array of objects that have a \"name\" each");
    read.push_back({index, steps});
  }
  return read;
}

}  // namespace tenon::components
