#include "framework/components/kinds/field_lists.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/ports.h"
#include "framework/config/values/class_names.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::components {
namespace {

using nlohmann::json;

constexpr uint64_t kMostClasses = uint64_t{1} << 31;

std::vector<std::string> read_names(const tenon_class_names& list) {
  std::vector<std::string> names;
  if (!list.names) return names;
  for (uint64_t i = 0; i < list.count; ++i)
    names.push_back(support::escape_control_characters(to_string(list.names[i])));
  return names;
}

bool is_step(const json& step) {
  const auto name = step.find("name");
  return step.is_object() && name != step.end() && name->is_string();
}

bool is_list_of_steps(const std::string& text) {
  const json steps = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return steps.is_array() && std::ranges::all_of(steps, is_step);
}

// The rules that all lists of a dataset's fields share.
struct ListReader {
  const Component& component;
  const char* function;
  const char* what;  // "classes"
  const std::vector<SampleField>& fields;

  [[noreturn]] void refuse(const std::string& found) const { throw_plugin_error(component, function, found); }

  void require_count(const void* lists, uint64_t count) const {
    if (count > fields.size() || (count > 0 && !lists))
      refuse(fmt::format("returns {} lists of {}{}; expected at most one for each of the {} fields", count, what,
                         lists ? "" : ", which are NULL", fields.size()));
  }

  // Returns the index of the field of list `number`.
  template <class List>
  size_t find_field(const List* list, uint64_t least_size, uint64_t number) const {
    if (!list || list->size < least_size) refuse(fmt::format("list {} is null or cut short", number));
    const std::string name = to_string(list->field);
    const auto field = std::ranges::find(fields, name, &SampleField::name);
    if (field == fields.end()) refuse(fmt::format("names the field {}, which is not a field of the dataset", name));
    return static_cast<size_t>(field - fields.begin());
  }

  template <class Read>
  void require_first(const std::vector<Read>& read, size_t field) const {
    if (std::ranges::find(read, field, &Read::field) != read.end())
      refuse(fmt::format("has two lists for the field {}; expected one", fields[field].name));
  }
};

}  // namespace

std::vector<ClassList> read_class_lists(const Component& component, const tenon_class_names* const* lists,
                                        uint64_t count, const std::vector<SampleField>& fields) {
  const ListReader reader{component, "class_names.classes", "classes", fields};
  reader.require_count(lists, count);
  std::vector<ClassList> read;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t index = reader.find_field(lists[i], TENON_SIZE_TO(tenon_class_names, names), i);
    const SampleField& field = fields[index];
    if (!field.is_integer())
      reader.refuse(fmt::format("names the field {}, which holds {}; expected an integer dtype", field.name,
                                dtype_name(field.dtype)));
    if (lists[i]->count == 0 || lists[i]->count > kMostClasses)
      reader.refuse(fmt::format("{} has {} classes; expected 1 to {}", field.name, lists[i]->count, kMostClasses));
    reader.require_first(read, index);
    ClassList& added =
        read.emplace_back(ClassList{index, static_cast<int64_t>(lists[i]->count), read_names(*lists[i])});
    if (lists[i]->names)
      if (const auto fault = config::find_name_fault(added.names))
        reader.refuse(fmt::format("{} {}; expected a different name for each class", field.name, *fault));
  }
  return read;
}

std::vector<FieldSteps> read_field_steps(const Component& component, const tenon_preprocessing* const* lists,
                                         uint64_t count, const std::vector<SampleField>& fields) {
  const ListReader reader{component, "preprocessing.lists", "steps", fields};
  reader.require_count(lists, count);
  std::vector<FieldSteps> read;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t index = reader.find_field(lists[i], TENON_SIZE_TO(tenon_preprocessing, steps), i);
    reader.require_first(read, index);
    const std::string steps = to_string(lists[i]->steps);
    if (!is_list_of_steps(steps))
      reader.refuse(fmt::format("the steps of {} are {}; expected a JSON array of objects that have a \"name\" each",
                                fields[index].name, support::escape_control_characters(steps)));
    read.push_back({index, steps});
  }
  return read;
}

}  // namespace tenon::components
