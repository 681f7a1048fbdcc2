#include "framework/components/kinds/field_lists.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

// Returns what is wrong with the shape or dtype of a field that has a role; "" if nothing is.
std::string find_role_fault(const SampleField& field) {
  const auto expect = [&](const char* expected) {
    return fmt::format("is {} {}; expected {}", dtype_name(field.dtype), describe_shape(field.shape), expected);
  };
  const bool is_float = (TENON_ANY_FLOAT & TENON_DTYPE_BIT(field.dtype)) != 0;
  const int64_t last = field.shape.empty() ? 0 : field.shape.back();
  if (field.role == TENON_FIELD_BOXES && (!is_float || field.shape.size() != 2 || last != 4))
    return expect("boxes: floating-point numbers [M, 4]");
  if (field.role == TENON_FIELD_KEYPOINTS && (!is_float || field.shape.size() < 2 || (last != 2 && last != 3)))
    return expect("keypoints: floating-point numbers [..., 2] or [..., 3]");
  if (field.role == TENON_FIELD_ANGLES && !is_float) return expect("angles: floating-point numbers");
  return "";
}

// Returns what is wrong with the fields that a field with a role names; "" if nothing is.
std::string find_reference_fault(const SampleField& field, const std::vector<SampleField>& fields) {
  const auto image = std::ranges::find(fields, field.image, &SampleField::name);
  if (image == fields.end() || image->shape.size() != 3)
    return fmt::format("has the image \"{}\"; expected the name of a field of images", field.image);
  if (field.classes.empty()) return "";
  const auto classes = std::ranges::find(fields, field.classes, &SampleField::name);
  const bool fits = classes != fields.end() && classes->is_integer() && classes->shape.size() == 1;
  return field.role == TENON_FIELD_BOXES && fits
             ? ""
             : fmt::format("has the classes \"{}\"; expected boxes, and the name of an integer field [M]",
                           field.classes);
}

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

void read_field_details(const Component& component, const tenon_field_detail* const* details, uint64_t count,
                        std::vector<SampleField>& fields) {
  const ListReader reader{component, "field_details.details", "details", fields};
  reader.require_count(details, count);
  std::set<size_t> described;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t index = reader.find_field(details[i], TENON_SIZE_TO(tenon_field_detail, least_extent), i);
    const tenon_field_detail& detail = *details[i];
    SampleField& field = fields[index];
    const auto refuse = [&](const std::string& fault) { reader.refuse(field.name + " " + fault); };
    if (!described.insert(index).second) refuse("has two details; expected one for each field");
    if (detail.role > TENON_FIELD_ANGLES) refuse(fmt::format("has the role {}, which does not exist", detail.role));
    if (detail.least_extent < 0 || (detail.least_extent > 0 && !field.is_varying()))
      refuse(fmt::format("is {} and has a least extent of {}; expected 0, or an extent of -1 and a positive number",
                         describe_shape(field.shape), detail.least_extent));
    field.role = detail.role;
    field.least_extent = detail.least_extent;
    field.image = to_string(detail.image);
    field.classes = to_string(detail.classes);
    if (const std::string fault = find_role_fault(field); !fault.empty()) refuse(fault);
    if (field.role == TENON_FIELD_NUMBERS) continue;
    if (const std::string fault = find_reference_fault(field, fields); !fault.empty()) refuse(fault);
  }
}

}  // namespace tenon::components
