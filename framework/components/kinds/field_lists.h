// What a dataset declares for its fields: classes (tenon/class_names.h), steps (tenon/preprocessing.h) and details
// (tenon/draft/field_details.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/class_names.h>
#include <tenon/draft/field_details.h>
#include <tenon/preprocessing.h>

#include "framework/components/calls/component.h"
#include "framework/components/kinds/sample_slot.h"

namespace tenon::components {

// The classes of a field.
struct ClassList {
  size_t field;                         // its index among the dataset's fields
  int64_t count;                        // number of classes
  std::vector<std::string> names = {};  // of the classes 0 to count - 1; empty: the data do not name them
};

// Reads a dataset's lists. Control characters and bytes that are not UTF-8 become escapes such as `\xe9`. Throws
// Error(plugin) for a field that does not exist or has no integer dtype, several lists for one field, and names that
// are empty or duplicate.
std::vector<ClassList> read_class_lists(const Component& component, const tenon_class_names* const* lists,
                                        uint64_t count, const std::vector<SampleField>& fields);

// The steps by which a dataset makes a field.
struct FieldSteps {
  size_t field;       // its index among the dataset's fields
  std::string steps;  // JSON: an array of objects, each with the string "name"
};

// Reads a dataset's lists. Throws Error(plugin) for a field that does not exist, several lists for one field, and a
// text of another form.
std::vector<FieldSteps> read_field_steps(const Component& component, const tenon_preprocessing* const* lists,
                                         uint64_t count, const std::vector<SampleField>& fields);

// Reads a dataset's details into its fields. Throws Error(plugin) for a field that does not exist, several details for
// one field, a dtype or shape that does not fit the role, and a least extent where no extent varies.
void read_field_details(const Component& component, const tenon_field_detail* const* details, uint64_t count,
                        std::vector<SampleField>& fields);

}  // namespace tenon::components
