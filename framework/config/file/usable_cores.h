// The number of cores that this process can use: the base of `workers = "auto"` and of the default of `threads`.
#pragma once

#include <cstdint>
#include <filesystem>

namespace tenon::config {

// Returns the number of cores in the CPU affinity of the process, limited by the CPU quota of its control groups, at
// least 1. The quota is rounded up: a quota of 1.5 cores keeps two threads busy, and one thread would waste a third.
int64_t count_usable_cores();

// The same for one of `local_processes` processes of a run on this machine, which share the cores. Launchers that give
// each process separate cores, as srun does by default, have already divided them.
int64_t count_usable_cores(int64_t local_processes);

// Returns the smallest CPU quota of the control groups of the process and all their parent groups, in cores. 1.5 is
// 150 ms in each 100 ms. 0 means no limit. Reads cpu.max (version 2), and cpu.cfs_quota_us with cpu.cfs_period_us
// (version 1). `root` replaces "/" in tests.
double read_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace tenon::config
