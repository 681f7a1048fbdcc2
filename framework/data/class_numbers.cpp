#include "framework/data/class_numbers.h"

#include <tenon/abi.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "framework/components/calls/ports.h"
#include "framework/config/toml/value.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {

using support::Error;
using support::ErrorKind;

namespace {

bool is_integer(int32_t dtype) { return (TENON_ANY_INTEGER & TENON_DTYPE_BIT(dtype)) != 0; }

int64_t largest_number(int32_t dtype) {
  switch (dtype) {
    case TENON_UINT8: return std::numeric_limits<uint8_t>::max();
    case TENON_INT8: return std::numeric_limits<int8_t>::max();
    case TENON_INT16: return std::numeric_limits<int16_t>::max();
    case TENON_INT32: return std::numeric_limits<int32_t>::max();
    default: return std::numeric_limits<int64_t>::max();
  }
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
              what + " has " + config::describe_classes(classes.names) + "; expected only classes of " + source +
                  ", which has " + config::describe_classes(known) + ": " + config::list_classes(unknown) +
                  (unknown.size() == 1 ? " is" : " are") +
                  " not among them; remove or rename these classes of the data" +
                  (source == "the training data" ? ", or add them to the training data" : ", or train with them"));
}

// Returns the number in the numbering for each class of the dataset.
std::vector<int64_t> find_numbers(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  std::map<std::string_view, int64_t> numbers;
  for (size_t i = 0; i < known.size(); ++i) numbers.emplace(known[i], static_cast<int64_t>(i));
  std::vector<int64_t> found;
  for (const std::string& name : names) found.push_back(numbers.at(name));
  return found;
}

bool is_same(const std::vector<int64_t>& numbers, int64_t classes) {
  if (static_cast<int64_t>(numbers.size()) != classes) return false;
  std::vector<int64_t> same(numbers.size());
  std::iota(same.begin(), same.end(), int64_t{0});
  return numbers == same;
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
  switch (dtype) {
    case TENON_UINT8: return replace(reinterpret_cast<uint8_t*>(elements), count, numbers, classes);
    case TENON_INT8: return replace(reinterpret_cast<int8_t*>(elements), count, numbers, classes);
    case TENON_INT16: return replace(reinterpret_cast<int16_t*>(elements), count, numbers, classes);
    case TENON_INT32: return replace(reinterpret_cast<int32_t*>(elements), count, numbers, classes);
    default: return replace(reinterpret_cast<int64_t*>(elements), count, numbers, classes);
  }
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
      throw Error(ErrorKind::data, what + " has " + support::format_count(classes.count, "class", "classes") +
                                       "; expected at most the " + config::describe_classes(known->second) + " of " +
                                       numbering.source + ": give the data the same classes");
    if (classes.names.empty()) continue;
    const std::vector<std::string> unknown = list_missing(classes.names, known->second);
    if (!unknown.empty()) refuse_unknown(what, classes, known->second, numbering.source, unknown);
    if (count - 1 > largest_number(field.dtype))
      throw Error(ErrorKind::data, what + " holds " + components::dtype_name(field.dtype) +
                                       ", which cannot number the " + std::to_string(count) + " classes of " +
                                       numbering.source + "; expected a wider dtype: change the dataset");
    std::vector<int64_t> numbers = find_numbers(classes.names, known->second);
    if (is_same(numbers, count)) continue;
    const std::vector<std::string> lacking = list_missing(known->second, classes.names);
    if (!lacking.empty())
      support::log_warning(what + " has " + std::to_string(classes.names.size()) + " of the " + std::to_string(count) +
                           " classes of " + numbering.source + ", without " + config::list_classes(lacking) +
                           "; they are numbered by name");
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
                dataset_ + " sample " + std::to_string(request.index) + ": its " + field.name + " holds " +
                    std::to_string(unnamed) + ", which is none of the " + std::to_string(table.numbers.size()) +
                    " classes that the dataset names, but is the number of another class: " +
                    "name every class, or use a number of at least " + std::to_string(table.classes) + " for no class");
  }
}

void require_class_fields(const config::ClassNames& names, const std::string& source,
                          const components::Dataset& dataset, const std::string& place) {
  std::vector<std::string> fields;
  for (const Field& field : dataset.fields())
    if (is_integer(field.dtype)) fields.push_back(field.name);
  for (const auto& [field, classes] : names)
    if (std::ranges::find(fields, field) == fields.end())
      throw Error(ErrorKind::configuration,
                  place + ": " + source + " names the classes of the field " + config::to_toml_key(field) + ", but " +
                      dataset.component().describe() + " has no integer field with that name" +
                      formats::suggest_name(field, fields) + "; expected a field that holds numbers of classes");
}

}  // namespace tenon::data
