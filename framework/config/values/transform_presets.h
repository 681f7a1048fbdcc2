// Lists of image transforms that a run file can name by one word: transforms = "imagenet_train".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::config {

// The transforms of a known recipe. A preset never changes: a newer recipe has another name.
struct TransformPreset {
  std::string name;
  std::string recipe;  // one phrase, for the documentation
  std::vector<std::string> transforms;
};

const std::vector<TransformPreset>& transform_presets();

// The presets that a parameter accepts in place of a list: all of them for `transforms`, a list of strings, and none
// for any other parameter.
std::span<const TransformPreset> presets_of(const ParamSchema& schema);

}  // namespace tenon::config
