// Turns a graph of the archive, models/NAME.json, into a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/models/exported/json.h"
#include "plugins/models/exported/program.h"
#include "plugins/models/exported/stored_tensors.h"

namespace exported {

// Whether the flags of dropout and batch norm stay as they were exported, or are switched.
enum class Mode { as_exported, training, evaluation };

// What a program is compiled against. `weights` has the index of each parameter and buffer in the frame, by its name in
// state_dict(); tied names have the same index.
struct Weights {
  std::map<std::string, size_t> index;
  std::vector<std::string> names;  // by index
};

// Throws std::invalid_argument for another version than this reader's.
void check_version(const Json& model);

// Throws std::invalid_argument that names the node, its line of Python, and what was expected.
Program compile(const Json& model, const Weights& weights, const StoredTensors& constants, Mode mode);

}  // namespace exported
