// Lists of machines and of numbers as SLURM abbreviates them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::distributed {

// The first name of a list of nodes: "node01" of "node[01-04,7],gpu3". Nothing where the list is not one.
std::optional<std::string> first_node(const std::string& list);

// How many tasks each node has, from "2(x3),1": 2, 2, 2, 1. Nothing where the text does not read so, or has more than a
// million nodes.
std::optional<std::vector<int64_t>> parse_tasks_per_node(const std::string& text);

}  // namespace tenon::distributed
