#include "framework/components/kinds/class_list.h"

#include <algorithm>

#include "framework/components/calls/ports.h"
#include "framework/config/values/class_names.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/printable.h"

namespace tenon::components {

namespace {

constexpr uint64_t kMostClasses = uint64_t{1} << 31;

bool is_integer(int32_t dtype) { return (TENON_ANY_INTEGER & TENON_DTYPE_BIT(dtype)) != 0; }

std::vector<std::string> read_names(const tenon_class_names& list) {
  std::vector<std::string> names;
  if (!list.names) return names;
  for (uint64_t i = 0; i < list.count; ++i)
    names.push_back(support::escape_control_characters(to_string(list.names[i])));
  return names;
}

}  // namespace

std::vector<ClassList> read_class_lists(const Component& component, const tenon_class_names* const* lists,
                                        uint64_t count, const std::vector<SampleField>& fields) {
  const auto refuse = [&](const std::string& what) {
    throw support::Error(support::ErrorKind::plugin, component.describe() + ", class_names.classes: " + what);
  };
  if (count > fields.size() || (count > 0 && !lists))
    refuse("returns " + std::to_string(count) + " lists of classes" + (lists ? "" : ", which are NULL") +
           "; expected at most one for each of the " + std::to_string(fields.size()) + " fields");
  std::vector<ClassList> read;
  for (uint64_t i = 0; i < count; ++i) {
    if (!lists[i] || lists[i]->size < TENON_SIZE_TO(tenon_class_names, names))
      refuse("list " + std::to_string(i) + " is null or cut short");
    const std::string name = to_string(lists[i]->field);
    const auto field = std::ranges::find(fields, name, &SampleField::name);
    if (field == fields.end()) refuse("names the field " + name + ", which is not a field of the dataset");
    if (!is_integer(field->dtype))
      refuse("names the field " + name + ", which holds " + dtype_name(field->dtype) + "; expected an integer dtype");
    if (lists[i]->count == 0 || lists[i]->count > kMostClasses)
      refuse(name + " has " + std::to_string(lists[i]->count) + " classes; expected 1 to " +
             std::to_string(kMostClasses));
    const auto index = static_cast<size_t>(field - fields.begin());
    if (std::ranges::any_of(read, [&](const ClassList& other) { return other.field == index; }))
      refuse("has two lists for the field " + name + "; expected one");
    ClassList& added =
        read.emplace_back(ClassList{index, static_cast<int64_t>(lists[i]->count), read_names(*lists[i])});
    if (lists[i]->names)
      if (const auto fault = config::find_name_fault(added.names))
        refuse(name + " " + *fault + "; expected a different name for each class");
  }
  return read;
}

}  // namespace tenon::components
