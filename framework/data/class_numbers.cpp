#include "framework/data/class_numbers.h"

#include <tenon/abi.h>

#include <algorithm>
#include <limits>
#include <map>

#include "framework/components/calls/ports.h"
#include "framework/config/toml/value.h"
#include "framework/data/sampler.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {

using support::Error;
using support::ErrorKind;

namespace {

int64_t largest_number(int32_t dtype) {
  return components::visit_integer(dtype,
                                   []<class T>(T) { return static_cast<int64_t>(std::numeric_limits<T>::max()); });
}

// The names of `some` that `all` lacks.
std::vector<std::string> list_missing(std::vector<std::string> some, std::vector<std::string> all) {
  std::ranges::sort(some);
  std::ranges::sort(all);
  std::vector<std::string> missing;
  std::ranges::set_difference(some, all, std::back_inserter(missing));
  return missing;
}

[[noreturn]] void refuse_unknown(const std::string& what, const components::ClassList& classes,
                                 const std::vector<std::string>& known, const std::string& source,
                                 const std::vector<std::string>& unknown) {
  throw Error(ErrorKind::data,
              "{} has {}; expected only classes of {}, which has {}: {} {} not among them; remove or rename "
              "these classes of the data, or {}",
              what, config::describe_classes(classes.names), source, config::describe_classes(known),
              config::list_classes(unknown), unknown.size() == 1 ? "is" : "are",
              source == "the training data" ? "add them to the training data" : "train with them");
}

// Returns the number in the numbering for each class of the dataset.
std::vector<int64_t> find_numbers(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  std::map<std::string_view, int64_t> numbers;
  for (size_t i = 0; i < known.size(); ++i) numbers.emplace(known[i], static_cast<int64_t>(i));
  std::vector<int64_t> found;
  for (const std::string& name : names) found.push_back(numbers.at(name));
  return found;
}

// Returns the first number that is none of the dataset's classes but one of the numbering, or -1.
template <class Number>
int64_t replace(Number* elements, size_t count, const std::vector<int64_t>& numbers, int64_t classes) {
  const auto known = static_cast<int64_t>(numbers.size());
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<int64_t>(elements[i]);
    if (number >= 0 && number < known)
      elements[i] = static_cast<Number>(numbers[static_cast<size_t>(number)]);
    else if (number >= 0 && number < classes)
      return number;
  }
  return -1;
}

int64_t replace(int32_t dtype, std::byte* elements, size_t count, const std::vector<int64_t>& numbers,
                int64_t classes) {
  return components::visit_integer(
      dtype, [&]<class T>(T) { return replace(reinterpret_cast<T*>(elements), count, numbers, classes); });
}

}  // namespace

ClassNumbers::ClassNumbers(const components::Dataset& dataset, const Numbering& numbering, const std::string& place)
    : dataset_(dataset.name()), fields_(dataset.fields()), names_(numbering.names) {
  for (const components::ClassList& classes : dataset.classes()) {
    const Field& field = fields_[classes.field];
    const auto known = names_.find(field.name);
    if (known == names_.end()) {
      if (!classes.names.empty()) names_.emplace(field.name, classes.names);
      continue;
    }
    const std::string what = place + ": the " + field.name + " of " + dataset_;
    const auto count = static_cast<int64_t>(known->second.size());
    if (classes.names.empty() && classes.count > count)
      throw Error(ErrorKind::data, "{} has {}; expected at most the {} of {}: give the data the same classes", what,
                  support::format_count(classes.count, "class", "classes"), config::describe_classes(known->second),
                  numbering.source);
    if (classes.names.empty()) continue;
    const std::vector<std::string> unknown = list_missing(classes.names, known->second);
    if (!unknown.empty()) refuse_unknown(what, classes, known->second, numbering.source, unknown);
    if (count - 1 > largest_number(field.dtype))
      throw Error(ErrorKind::data,
                  "{} holds {}, which cannot number the {} classes of {}; expected a wider dtype: change the dataset",
                  what, components::dtype_name(field.dtype), count, numbering.source);
    std::vector<int64_t> numbers = find_numbers(classes.names, known->second);
    if (numbers == sequential_order(count)) continue;
    const std::vector<std::string> lacking = list_missing(known->second, classes.names);
    if (!lacking.empty())
      support::log_warning("{} has {} of the {} classes of {}, without {}; they are numbered by name", what,
                           classes.names.size(), count, numbering.source, config::list_classes(lacking));
    else
      support::log_info(what + " numbers its classes in another order than " + numbering.source +
                        "; they are numbered by name");
    tables_.push_back({classes.field, std::move(numbers), count});
  }
}

void ClassNumbers::apply(const SampleRequest& request, std::span<const SampleSlot> slots) const {
  for (const Table& table : tables_) {
    const Field& field = fields_[table.field];
    const SampleSlot& slot = slots[table.field];
    std::byte* const elements = slot.fixed ? slot.fixed : slot.varying->data();
    const size_t bytes = slot.fixed ? field.sample_bytes : slot.varying->bytes();
    const int64_t unnamed = replace(field.dtype, elements, bytes / field.element_bytes, table.numbers, table.classes);
    if (unnamed < 0) continue;
    throw Error(ErrorKind::data,
                "{} sample {}: its {} holds {}, which is none of the {} classes that the dataset names, but is "
                "the number of another class: name every class, or use a number of at least {} for no class",
                dataset_, request.index, field.name, unnamed, table.numbers.size(), table.classes);
  }
}

void require_class_fields(const config::ClassNames& names, const std::string& source,
                          const components::Dataset& dataset, const std::string& place) {
  std::vector<std::string> fields;
  for (const Field& field : dataset.fields())
    if ((TENON_ANY_INTEGER & TENON_DTYPE_BIT(field.dtype)) != 0) fields.push_back(field.name);
  for (const auto& [field, classes] : names)
    if (std::ranges::find(fields, field) == fields.end())
      throw Error(ErrorKind::configuration,
                  "{}: {} names the classes of the field {}, but {} has no integer field with that name{}; "
                  "expected a field that holds numbers of classes",
                  place, source, config::to_toml_key(field), dataset.component().describe(),
                  formats::suggest_name(field, fields));
}

}  // namespace tenon::data
