// How many threads can run at once in this process: the base of `workers = "auto"` and of the default of `threads`.
#pragma once

#include <cstdint>
#include <filesystem>

namespace tenon::config {

// The cores that this process may run on (its affinity), or fewer where a CPU quota of its control groups grants less
// time: the quota rounded up, as 1.5 cores keep two threads busy and one thread would waste a third. At least 1.
int64_t count_usable_cores();

// The same for one of `local_processes` processes of a run on this machine, which share the cores. A launcher that
// gives each process cores of its own, as srun does by default, has divided them already.
int64_t count_usable_cores(int64_t local_processes);

// The smallest CPU quota of the process's control groups and of all groups around them, in cores: 1.5 is 150 ms in each
// 100 ms. 0 where there is no limit. Reads cpu.max (version 2), and cpu.cfs_quota_us with cpu.cfs_period_us (version
// 1). `root`: the folder that stands for "/", for tests.
double read_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace tenon::config
