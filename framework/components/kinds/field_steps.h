// The steps by which a dataset makes a field, see tenon/preprocessing.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/preprocessing.h>

#include "framework/components/calls/component.h"
#include "framework/components/kinds/sample_slot.h"

namespace tenon::components {

struct FieldSteps {
  size_t field;       // its index among the dataset's fields
  std::string steps;  // JSON: an array of objects, each with the string "name"
};

// Reads a dataset's lists. Throws Error(plugin) for a field that does not exist, several lists for one field, and a
// text of another form.
std::vector<FieldSteps> read_field_steps(const Component& component, const tenon_preprocessing* const* lists,
                                         uint64_t count, const std::vector<SampleField>& fields);

}  // namespace tenon::components
