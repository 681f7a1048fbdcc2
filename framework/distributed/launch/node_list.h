// Parses SLURM's abbreviated lists of nodes and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::distributed {

// Returns the first name of a list of nodes: "node01" for "node[01-04,7],gpu3". Returns nothing for an invalid list.
std::optional<std::string> first_node(const std::string& list);

// Returns the number of tasks of each node: 2, 2, 2, 1 for "2(x3),1". Returns nothing for an invalid text or more than
// a million nodes.
std::optional<std::vector<int64_t>> parse_tasks_per_node(const std::string& text);

}  // namespace tenon::distributed
