// The fields of class numbers that the losses of a run read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/kinds/sample_slot.h"
#include "host/training/open_run.h"

namespace tenon::host {

struct ClassTarget {
  int64_t classes = 0;             // that the model has by its parameter `classes`; 0: unknown
  std::optional<int64_t> ignored;  // a number that every loss with this target ignores
};

// By the name of the field. Finds the fields without building the model: by `inputs` of the loss, the name of its
// input, or as the only integer field. Leaves out what this does not determine.
std::map<std::string, ClassTarget> find_class_targets(const OpenedRun& run,
                                                      const std::vector<components::SampleField>& fields);

}  // namespace tenon::host
