// The ports of an exported model, from the names and shapes in its graph.
#pragma once

#include <tenon/port.hpp>

#include <string>
#include <vector>

#include "plugins/models/exported/json.h"

namespace exported {

// `output_names` replaces the names of the outputs; empty: those of the dictionary that forward returns, or `output`.
// Throws std::invalid_argument.
std::vector<tenon::Port> read_ports(const Json& model, const std::vector<std::string>& output_names);

// Throws std::invalid_argument unless the graphs have the same inputs, and as many outputs.
void check_same_ports(const std::vector<tenon::Port>& training, const std::vector<tenon::Port>& evaluation);

}  // namespace exported
