// Which of a run's processes this one is, as whoever started it says in the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace tenon::distributed {

// This process's place among the processes of a run.
struct World {
  enum class Launcher { none, tenon, torchrun, slurm };  // who started the processes
  Launcher launcher = Launcher::none;
  int64_t rank = 0, size = 1;              // of all processes
  int64_t local_rank = 0, local_size = 1;  // of those on this machine
  std::string master_address;              // where rank 0's store listens, or the launcher's; empty where size is 1
  uint16_t master_port = 0;
  bool store_is_launchers = false;  // torchrun's agent serves the store: rank 0 too only connects
  int listen_fd = -1;               // a listening socket for rank 0's store, of Tenon's launcher; -1: none
  int64_t attempt = 0;              // restarts so far

  bool is_one_machine() const { return local_size == size; }
  bool is_first() const { return rank == 0; }
};

// What Tenon's launcher says to the processes that it starts (launch_ranks.h). They count where kLauncherPid is the
// parent of this process: a program that a rank starts inherits them too, and is no rank.
namespace variables {
inline constexpr const char* kLauncherPid = "TENON_LAUNCHER_PID";
inline constexpr const char* kRank = "TENON_RANK";
inline constexpr const char* kWorldSize = "TENON_WORLD_SIZE";
inline constexpr const char* kMasterAddress = "TENON_MASTER_ADDR";
inline constexpr const char* kMasterPort = "TENON_MASTER_PORT";
inline constexpr const char* kListenFd = "TENON_LISTEN_FD";  // of rank 0 alone
inline constexpr const char* kAttempt = "TENON_ATTEMPT";
}  // namespace variables

// Tenon's launcher, torchrun or SLURM's srun, the first of them that left its variables; one process where none did
// (docs/distributed.md lists what is read). Throws Error(configuration), naming the variable, for numbers that are
// missing, do not parse or contradict each other.
World read_world(const std::function<const char*(const char*)>& environment = [](const char* name) {
  return static_cast<const char*>(std::getenv(name));
});

}  // namespace tenon::distributed
