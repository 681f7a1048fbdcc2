// The cores and the memory that this process can use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tenon::config {

// The base of `workers = "auto"` and of the default of `threads`: the number of cores in the CPU affinity of the
// process, limited by the CPU quota of its control groups, at least 1. The quota is rounded up: a quota of 1.5 cores
// keeps two threads busy, and one thread would waste a third.
int64_t count_usable_cores();

// The same for one of `local_processes` processes of a run on this machine, which share the cores. Launchers that give
// each process separate cores, as srun does by default, have already divided them.
int64_t count_usable_cores(int64_t local_processes);

// Returns the smallest CPU quota of the control groups of the process and all their parent groups, in cores. 1.5 is
// 150 ms in each 100 ms. 0 means no limit. Reads cpu.max (version 2), and cpu.cfs_quota_us with cpu.cfs_period_us
// (version 1). `root` replaces "/" in tests.
double read_cpu_quota(const std::filesystem::path& root = "/");

// Returns the memory in bytes that can be allocated without swapping: MemAvailable of /proc/meminfo, and for each
// control group of the process its limit minus what it uses. Files that the system has cached count as free. Reads
// memory.max (version 2) and memory.limit_in_bytes (version 1). Nothing if unknown. `root` replaces "/" in tests.
std::optional<int64_t> read_usable_memory(const std::filesystem::path& root = "/");

}  // namespace tenon::config
