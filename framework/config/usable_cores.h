// How many threads can run at once in this process: what `workers = "auto"` goes by.
#pragma once

#include <cstdint>
#include <filesystem>

namespace tenon::config {

// The cores that this process may run on (its affinity), or fewer where its control group has a smaller share of time
// (cpu.max, of a container for instance). At least 1.
int64_t count_usable_cores();

// Cores' worth of time that a cpu.max file grants, rounded up: "150000 100000" is 2. 0 where it sets no limit ("max
// 100000"), or cannot be read.
int64_t read_core_limit(const std::filesystem::path& cpu_max);

}  // namespace tenon::config
