#include "framework/distributed/launch/world.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>

#include "tests/messages.h"

namespace tenon::distributed {
namespace {

using Environment = std::map<std::string, std::string>;
using Launcher = World::Launcher;

World world_of(const Environment& environment) {
  return read_world([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// Returns `environment` with other values. An empty value represents a variable that is not set.
Environment with(Environment environment, const Environment& changes) {
  for (const auto& [name, value] : changes) environment[name] = value;
  return environment;
}

void check_refused(const Environment& environment, const std::string& message) {
  const std::string refusal = find_error(support::ErrorKind::configuration, [&] { world_of(environment); });
  CAPTURE(refusal);
  CHECK(refusal.starts_with("environment: " + message));
}

std::string place_of(const World& world) {
  return fmt::format("{} of {}, {} of {} on its machine", world.rank, world.size, world.local_rank, world.local_size);
}

void check_one_process(const World& world) {
  CHECK(world.launcher == Launcher::none);
  CHECK(place_of(world) == "0 of 1, 0 of 1 on its machine");
  CHECK(world.master_address.empty());
  CHECK(world.listen_fd == -1);
  CHECK(world.is_one_machine());
  CHECK(world.is_first());
}

const Environment kTenon = {{"TENON_LAUNCHER_PID", std::to_string(getppid())},
                            {"TENON_RANK", "0"},
                            {"TENON_WORLD_SIZE", "3"},
                            {"TENON_MASTER_ADDR", "127.0.0.1"},
                            {"TENON_MASTER_PORT", "41234"},
                            {"TENON_LISTEN_FD", "7"},
                            {"TENON_ATTEMPT", "0"}};

// The third of four processes on two machines.
const Environment kTorchrun = {{"RANK", "2"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "0"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RESTART_COUNT", "1"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

// The last of seven processes on four machines.
const Environment kSlurm = {{"SLURM_JOB_ID", "1234567"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_NTASKS", "7"},
                            {"SLURM_STEP_NUM_TASKS", "7"},
                            {"SLURM_PROCID", "6"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NODEID", "3"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                            {"SLURM_STEP_NODELIST", "node[07-09],gpu1"}};

// The fourth of six processes on two machines.
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},       {"OMPI_COMM_WORLD_SIZE", "6"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                              {"PMIX_NAMESPACE", "3141795841"},    {"MASTER_ADDR", "node1"}};

// The second of two processes on one machine.
const Environment kMpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};

}  // namespace

TEST_CASE("a process without a launcher is a run of one process") {
  check_one_process(world_of({}));
  check_one_process(world_of({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}, {"RANK", ""}}));
}

TEST_CASE("a process of Tenon's launcher has its rank, and rank 0 has the listening socket") {
  const World first = world_of(kTenon);
  CHECK(first.launcher == Launcher::tenon);
  CHECK(place_of(first) == "0 of 3, 0 of 3 on its machine");
  CHECK(first.master_address == "127.0.0.1");
  CHECK(first.master_port == 41234);
  CHECK(first.listen_fd == 7);
  CHECK(first.attempt == 0);
  CHECK_FALSE(first.store_is_launchers);
  CHECK_FALSE(world_of(with(kTenon, {{"TENON_REPORTS_CHECKPOINTS", ""}})).reports_checkpoints);
  CHECK(world_of(with(kTenon, {{"TENON_REPORTS_CHECKPOINTS", "1"}})).reports_checkpoints);
  const World last = world_of(with(kTenon, {{"TENON_RANK", "2"}, {"TENON_LISTEN_FD", ""}, {"TENON_ATTEMPT", "4"}}));
  CHECK(last.rank == 2);
  CHECK(last.local_rank == 2);
  CHECK(last.listen_fd == -1);
  CHECK(last.attempt == 4);
  CHECK_FALSE(last.is_first());
}

TEST_CASE("a program that a rank starts is not that rank") {
  check_one_process(world_of(with(kTenon, {{"TENON_LAUNCHER_PID", "1234567890"}})));
}

TEST_CASE("Tenon's launcher takes precedence over torchrun, and torchrun over SLURM") {
  Environment all = kSlurm;
  all.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(world_of(all).launcher == Launcher::torchrun);
  CHECK(world_of(all).rank == 2);
  all.insert(kTenon.begin(), kTenon.end());
  CHECK(world_of(all).launcher == Launcher::tenon);
  CHECK(world_of(all).rank == 0);
}

TEST_CASE("the variables of Open MPI are read") {
  const World world = world_of(kOpenMpi);
  CHECK(world.launcher == Launcher::open_mpi);
  CHECK(place_of(world) == "3 of 6, 0 of 3 on its machine");
  CHECK(world.master_address == "node1");
  CHECK(world.master_port >= 15000);
  CHECK(world.master_port < 25000);
  CHECK(world_of(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "5"}})).master_port == world.master_port);
  CHECK(world_of(with(kOpenMpi, {{"PMIX_NAMESPACE", "3141795842"}})).master_port != world.master_port);
  CHECK(world_of(with(kOpenMpi, {{"MASTER_PORT", "2000"}})).master_port == 2000);
  check_refused(with(kOpenMpi, {{"MASTER_ADDR", ""}}), "MASTER_ADDR is not set; expected a value");
  check_refused(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "6"}}),
                "OMPI_COMM_WORLD_RANK is \"6\" and OMPI_COMM_WORLD_SIZE is \"6\"");
  const World single = world_of(with(
      kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}));
  CHECK(single.launcher == Launcher::open_mpi);
  CHECK(single.master_address.empty());
}

TEST_CASE("the variables of MPICH are read") {
  const World world = world_of(kMpich);
  CHECK(world.launcher == Launcher::mpich);
  CHECK(place_of(world) == "1 of 2, 1 of 2 on its machine");
  CHECK(world.master_address == "127.0.0.1");
  CHECK(world_of(with(kMpich, {{"PMI_RANK", "0"}, {"MPI_LOCALRANKID", "0"}})).master_port == world.master_port);
  const Environment larger = with(kMpich, {{"PMI_SIZE", "4"}, {"MASTER_ADDR", "node1"}});
  check_refused(larger, "MASTER_PORT is not set");
  CHECK(world_of(with(larger, {{"MASTER_PORT", "2000"}})).master_port == 2000);
  // srun --mpi=pmi2 sets two of these variables.
  check_one_process(world_of(with(kMpich, {{"MPI_LOCALRANKID", ""}})));
}

TEST_CASE("the launchers of MPI take precedence over SLURM, and torchrun over them") {
  Environment all = kSlurm;
  all.insert(kMpich.begin(), kMpich.end());
  CHECK(world_of(all).launcher == Launcher::mpich);
  all.insert(kOpenMpi.begin(), kOpenMpi.end());
  CHECK(world_of(all).launcher == Launcher::open_mpi);
  all.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(world_of(all).launcher == Launcher::torchrun);
}

TEST_CASE("torchrun's variables are read") {
  const World world = world_of(kTorchrun);
  CHECK(world.launcher == Launcher::torchrun);
  CHECK(place_of(world) == "2 of 4, 0 of 2 on its machine");
  CHECK(world.master_address == "node1");
  CHECK(world.master_port == 29500);
  CHECK(world.store_is_launchers);
  CHECK(world.attempt == 1);
  CHECK_FALSE(world.is_one_machine());
}

TEST_CASE("only the value True of torchrun means that its agent serves the store") {
  CHECK_FALSE(world_of(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).store_is_launchers);
  CHECK_FALSE(world_of(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", ""}})).store_is_launchers);
}

TEST_CASE("one process of torchrun has a launcher and no address") {
  const World world = world_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}});
  CHECK(world.launcher == Launcher::torchrun);
  CHECK(world.size == 1);
  CHECK(world.master_address.empty());
}

TEST_CASE("the variables of a SLURM step are read") {
  const World world = world_of(kSlurm);
  CHECK(world.launcher == Launcher::slurm);
  CHECK(place_of(world) == "6 of 7, 0 of 1 on its machine");
  CHECK(world.master_address == "node07");
  CHECK(world.master_port == 15000 + 4567);
  CHECK(world.listen_fd == -1);
}

TEST_CASE("simultaneous steps of one job have different ports") {
  const uint16_t first = world_of(kSlurm).master_port;
  CHECK(world_of(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).master_port != first);
  CHECK(world_of(with(kSlurm, {{"SLURM_JOB_ID", "1234568"}})).master_port != first);
}

TEST_CASE("MASTER_ADDR and MASTER_PORT take precedence over SLURM's variables") {
  const World world = world_of(with(kSlurm, {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "2000"}}));
  CHECK(world.master_address == "10.0.0.1");
  CHECK(world.master_port == 2000);
}

TEST_CASE("a SLURM step on one machine uses loopback") {
  const World world =
      world_of(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "7"}, {"SLURM_LOCALID", "6"}, {"SLURM_NODEID", "0"}}));
  CHECK(world.is_one_machine());
  CHECK(world.master_address == "127.0.0.1");
}

TEST_CASE("without the step's tasks per node the requested number is used") {
  const World world = world_of(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", ""}, {"SLURM_NTASKS_PER_NODE", "2"}}));
  CHECK(world.local_size == 2);
  CHECK(world.size == 7);
}

TEST_CASE("a batch script, a shell on an allocation and a step of one process are one process") {
  check_one_process(world_of(with(kSlurm, {{"SLURM_STEP_ID", ""}, {"SLURM_STEP_NUM_TASKS", ""}})));
  check_one_process(world_of({{"SLURM_JOB_ID", "12"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}));
  check_one_process(world_of(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "4294967290"}})));
}

TEST_CASE("a missing variable is named with a suggestion") {
  check_refused(with(kTorchrun, {{"WORLD_SIZE", ""}}),
                "WORLD_SIZE is not set; expected a value; start the processes "
                "with torchrun --no-python, or unset RANK and WORLD_SIZE");
  for (const char* name : {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    check_refused(with(kTorchrun, {{name, ""}}), std::string(name) + " is not set; expected a value; start");
  for (const char* name : {"TENON_RANK", "TENON_WORLD_SIZE", "TENON_MASTER_ADDR", "TENON_MASTER_PORT", "TENON_ATTEMPT"})
    check_refused(with(kTenon, {{name, ""}}),
                  std::string(name) + " is not set; expected a value; only Tenon's launcher may set");
  for (const char* name : {"SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_ID"})
    check_refused(with(kSlurm, {{name, ""}}), std::string(name) +
                                                  " is not set; expected a value; start the processes "
                                                  "with srun, or unset SLURM_STEP_ID");
  check_refused(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", ""}}), "SLURM_NTASKS_PER_NODE is not set");
  check_refused(with(kSlurm, {{"SLURM_STEP_NODELIST", ""}}), "SLURM_JOB_NODELIST is not set");
}

TEST_CASE("an invalid or out-of-range number is quoted") {
  check_refused(with(kTorchrun, {{"RANK", "two"}}), "RANK is \"two\"; expected an integer from 0 to ");
  check_refused(with(kTorchrun, {{"RANK", "-1"}}), "RANK is \"-1\"; expected an integer from 0 to ");
  check_refused(with(kTorchrun, {{"WORLD_SIZE", "4 "}}), "WORLD_SIZE is \"4 \"; expected an integer from 1 to ");
  check_refused(with(kTorchrun, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE is \"0\"; expected an integer from 1 to ");
  check_refused(with(kTorchrun, {{"WORLD_SIZE", "99999999999999999999"}}), "WORLD_SIZE is \"99999999999999999999\"");
  check_refused(with(kTorchrun, {{"MASTER_PORT", "65536"}}),
                "MASTER_PORT is \"65536\"; expected an integer from 1 to 65535");
  check_refused(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "x"}}), "TORCHELASTIC_RESTART_COUNT is \"x\"");
  check_refused(with(kTenon, {{"TENON_LISTEN_FD", "-1"}}), "TENON_LISTEN_FD is \"-1\"");
  check_refused(with(kSlurm, {{"MASTER_PORT", "0"}}), "MASTER_PORT is \"0\"");
  check_refused(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "many"}}), "SLURM_STEP_NUM_TASKS is \"many\"");
  check_refused(with(kSlurm, {{"SLURM_NODEID", "4"}}), "SLURM_NODEID is \"4\"; expected an integer from 0 to 3");
  check_refused(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x3)1"}}),
                "SLURM_STEP_TASKS_PER_NODE is \"2(x3)1\"; expected numbers of tasks such as \"2(x3),1\"");
  check_refused(with(kSlurm, {{"SLURM_STEP_NODELIST", "node["}}),
                "SLURM_STEP_NODELIST is \"node[\"; expected a list of nodes such as");
}

TEST_CASE("both of two contradicting numbers are named") {
  check_refused(with(kTorchrun, {{"RANK", "4"}}),
                "RANK is \"4\" and WORLD_SIZE is \"4\"; expected a rank below the number of processes; start");
  check_refused(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "5"}}),
                "LOCAL_WORLD_SIZE is \"5\" and WORLD_SIZE is \"4\"; expected no more processes on this machine");
  check_refused(with(kTorchrun, {{"LOCAL_RANK", "2"}}),
                "LOCAL_RANK is \"2\" and LOCAL_WORLD_SIZE is \"2\"; expected a rank below");
  check_refused(with(kTorchrun, {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}}),
                "RANK is \"2\" and LOCAL_RANK is \"1\"; expected the same rank twice");
  check_refused(with(kTenon, {{"TENON_RANK", "3"}}), "TENON_RANK is \"3\" and TENON_WORLD_SIZE is \"3\"");
  check_refused(with(kSlurm, {{"SLURM_PROCID", "7"}}), "SLURM_PROCID is \"7\" and SLURM_STEP_NUM_TASKS is \"7\"");
  check_refused(with(kSlurm, {{"SLURM_LOCALID", "1"}}),
                "SLURM_LOCALID is \"1\" and SLURM_STEP_TASKS_PER_NODE is \"2(x3),1\"; expected a rank below");
  check_refused(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x3)"}}),
                "SLURM_STEP_TASKS_PER_NODE is \"2(x3)\" in a step of 7 tasks; expected the same total");
}

}  // namespace tenon::distributed
