// Schemas of the built-in optimizers, schedules and batch transforms: the keys next to `use` in [optimizer], [schedule]
// and [[data.batch_transform]].
#pragma once

#include <string>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::config {

struct BuiltInSchema {
  std::string id;  // the value of `use`
  std::vector<ParamSchema> params;
};

const std::vector<BuiltInSchema>& optimizer_schemas();
const std::vector<BuiltInSchema>& schedule_schemas();
const std::vector<BuiltInSchema>& batch_transform_schemas();

}  // namespace tenon::config
