// Reads the rank and the world size of this process from the environment of its launcher.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenon::distributed {

// The position of this process among the processes of a run.
struct World {
  enum class Launcher { none, tenon, torchrun, open_mpi, mpich, slurm };  // the program that started the processes
  Launcher launcher = Launcher::none;
  int64_t rank = 0, size = 1;              // among all processes
  int64_t local_rank = 0, local_size = 1;  // among the processes on this machine
  std::string master_address;              // address of the store of rank 0 or of the launcher; empty if size is 1
  uint16_t master_port = 0;
  bool store_is_launchers = false;   // torchrun's agent serves the store; rank 0 only connects to it
  int listen_fd = -1;                // listening socket for the store of rank 0, from Tenon's launcher; -1: none
  int64_t attempt = 0;               // number of restarts so far
  bool reports_checkpoints = false;  // rank 0 reports them to Tenon's launcher

  bool is_one_machine() const { return local_size == size; }
  bool is_first() const { return rank == 0; }
};

// Returns the program: "torchrun", "mpirun", "mpiexec", "srun", "host".
const char* name_of(World::Launcher launcher);

// The variables that Tenon's launcher sets for its processes (launch_ranks.h). They are ignored unless kLauncherPid is
// the parent of this process: a program that a rank starts inherits them, but is not a rank.
namespace variables {
inline constexpr const char* kLauncherPid = "TENON_LAUNCHER_PID";
inline constexpr const char* kRank = "TENON_RANK";
inline constexpr const char* kWorldSize = "TENON_WORLD_SIZE";
inline constexpr const char* kMasterAddress = "TENON_MASTER_ADDR";
inline constexpr const char* kMasterPort = "TENON_MASTER_PORT";
inline constexpr const char* kListenFd = "TENON_LISTEN_FD";  // only for rank 0
inline constexpr const char* kAttempt = "TENON_ATTEMPT";
inline constexpr const char* kReportsCheckpoints = "TENON_REPORTS_CHECKPOINTS";  // "1": World::reports_checkpoints
}  // namespace variables

// Reads the variables of Tenon's launcher, torchrun, Open MPI, MPICH or SLURM's srun, in this order. Without variables
// the run has one process. docs/reference/distributed.md lists the variables. Throws Error(configuration) with the
// variable's name if a number is missing, invalid or contradicts another one.
World read_world(const std::function<const char*(const char*)>& environment = [](const char* name) {
  return static_cast<const char*>(std::getenv(name));
});

// SLURM abbreviates lists of nodes and numbers.

// Returns the first name of a list of nodes: "node01" for "node[01-04,7],gpu3". Returns nothing for an invalid list.
std::optional<std::string> first_node(const std::string& list);

// Returns the number of tasks of each node: 2, 2, 2, 1 for "2(x3),1". Returns nothing for an invalid text or more than
// a million nodes.
std::optional<std::vector<int64_t>> parse_tasks_per_node(const std::string& text);

}  // namespace tenon::distributed
