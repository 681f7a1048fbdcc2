#include "framework/distributed/launch/world.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::distributed {
namespace {

constexpr int64_t kMaxProcesses = 1'000'000;

// The environment variables of one launcher. `hint`: advice for invalid variables.
class Variables {
 public:
  Variables(const std::function<const char*(const char*)>& environment, std::string hint)
      : environment_(environment), hint_(std::move(hint)) {}

  // Returns an empty text if the variable is not set or empty.
  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }
  bool has(const char* name) const { return !text(name).empty(); }

  // Throws unless the variable is an integer from `least` to `most`.
  int64_t number(const char* name, int64_t least, int64_t most) const {
    const std::string found = require(name);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (error != std::errc() || end != found.data() + found.size() || value < least || value > most)
      refuse(describe(name), fmt::format("an integer from {} to {}", least, most));
    return value;
  }

  uint16_t port(const char* name) const { return static_cast<uint16_t>(number(name, 1, UINT16_MAX)); }

  std::string require(const char* name) const {
    if (!has(name)) refuse(describe(name), "a value");
    return text(name);
  }

  // Returns "RANK is "3"" or "RANK is not set".
  std::string describe(const char* name) const {
    return has(name) ? fmt::format("{} is \"{}\"", name, text(name)) : fmt::format("{} is not set", name);
  }

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw support::Error(support::ErrorKind::configuration, "environment: {}; expected {}; {}", found, expected, hint_);
  }

 private:
  const std::function<const char*(const char*)>& environment_;
  std::string hint_;
};

// The names of the variables in a launcher's environment.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

void refuse_contradictions(const World& world, const Variables& variables, const Names& names) {
  const auto both = [&](const char* one, const char* other) {
    return variables.describe(one) + " and " + variables.describe(other);
  };
  if (world.rank >= world.size) variables.refuse(both(names.rank, names.size), "a rank below the number of processes");
  if (world.local_size > world.size)
    variables.refuse(both(names.local_size, names.size), "no more processes on this machine than there are");
  if (world.local_rank >= world.local_size)
    variables.refuse(both(names.local_rank, names.local_size), "a rank below the number of processes on this machine");
  if (world.is_one_machine() && world.local_rank != world.rank)
    variables.refuse(both(names.rank, names.local_rank), "the same rank twice, since all processes are on one machine");
}

World read_ranks(World::Launcher launcher, const Variables& variables, const Names& names) {
  World world;
  world.launcher = launcher;
  world.rank = variables.number(names.rank, 0, kMaxProcesses);
  world.size = variables.number(names.size, 1, kMaxProcesses);
  world.local_rank = variables.number(names.local_rank, 0, kMaxProcesses);
  world.local_size = variables.number(names.local_size, 1, kMaxProcesses);
  refuse_contradictions(world, variables, names);
  return world;
}

World read_tenon(const std::function<const char*(const char*)>& environment) {
  const Variables variables(environment, "only Tenon's launcher may set these variables");
  World world = read_ranks(World::Launcher::tenon, variables,
                           {variables::kRank, variables::kWorldSize, variables::kRank, variables::kWorldSize});
  world.attempt = variables.number(variables::kAttempt, 0, INT32_MAX);
  world.reports_checkpoints = variables.has(variables::kReportsCheckpoints);
  if (world.size == 1) return world;
  world.master_address = variables.require(variables::kMasterAddress);
  world.master_port = variables.port(variables::kMasterPort);
  if (world.is_first() && variables.has(variables::kListenFd))
    world.listen_fd = static_cast<int>(variables.number(variables::kListenFd, 0, INT32_MAX));
  return world;
}

World read_torchrun(const std::function<const char*(const char*)>& environment) {
  const Variables variables(environment,
                            "start the processes with torchrun --no-python, or unset RANK and WORLD_SIZE to run as "
                            "one process");
  World world =
      read_ranks(World::Launcher::torchrun, variables, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"});
  if (variables.has("TORCHELASTIC_RESTART_COUNT"))
    world.attempt = variables.number("TORCHELASTIC_RESTART_COUNT", 0, INT32_MAX);
  if (world.size == 1) return world;
  world.master_address = variables.require("MASTER_ADDR");
  world.master_port = variables.port("MASTER_PORT");
  world.store_is_launchers = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return world;
}

// Returns a port below the ports of outgoing connections that differs between most jobs.
uint16_t compute_port(const std::string& job) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  return static_cast<uint16_t>(15000 + hash % 10000);
}

// `job`: a text that is the same in all processes and differs between jobs; empty: the launcher gives none. Then the
// port comes from the process that started those of this machine.
World read_mpi(World::Launcher launcher, const Names& names, const std::string& job, const Variables& variables) {
  World world = read_ranks(launcher, variables, names);
  if (world.size == 1) return world;
  if (variables.has("MASTER_ADDR") || !world.is_one_machine())
    world.master_address = variables.require("MASTER_ADDR");
  else
    world.master_address = "127.0.0.1";
  if (variables.has("MASTER_PORT") || (job.empty() && !world.is_one_machine()))
    world.master_port = variables.port("MASTER_PORT");
  else
    world.master_port = compute_port(job.empty() ? std::to_string(getppid()) : job);
  return world;
}

World read_open_mpi(const std::function<const char*(const char*)>& environment) {
  const Variables variables(environment,
                            "start the processes with mpirun, on several machines with -x MASTER_ADDR=HOST, the first "
                            "of them; or unset OMPI_COMM_WORLD_SIZE to run as one process");
  constexpr Names kNames{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                         "OMPI_COMM_WORLD_LOCAL_SIZE"};
  return read_mpi(World::Launcher::open_mpi, kNames, variables.text("PMIX_NAMESPACE"), variables);
}

World read_mpich(const std::function<const char*(const char*)>& environment) {
  const Variables variables(environment,
                            "start the processes with mpiexec, on several machines with -genv MASTER_ADDR HOST, the "
                            "first of them, and -genv MASTER_PORT 29500; or unset PMI_RANK to run as one process");
  constexpr Names kNames{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
  return read_mpi(World::Launcher::mpich, kNames, "", variables);
}

// srun sets the number of processes of its step. A batch script or a shell on an allocation has no step, or a step of
// one process. SLURM_NTASKS then has only the requested number.
int64_t count_slurm_tasks(const Variables& variables) {
  if (!variables.has("SLURM_STEP_ID") || !variables.has("SLURM_PROCID")) return 1;
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (variables.has(name)) return variables.number(name, 1, kMaxProcesses);
  return 1;
}

constexpr const char* kStepTasks = "SLURM_STEP_TASKS_PER_NODE";

int64_t read_slurm_local_size(const World& world, const Variables& variables) {
  if (!variables.has(kStepTasks)) return variables.number("SLURM_NTASKS_PER_NODE", 1, kMaxProcesses);
  const auto tasks = parse_tasks_per_node(variables.text(kStepTasks));
  if (!tasks) variables.refuse(variables.describe(kStepTasks), "numbers of tasks such as \"2(x3),1\"");
  if (std::accumulate(tasks->begin(), tasks->end(), int64_t{0}) != world.size)
    variables.refuse(fmt::format("{} in a step of {} tasks", variables.describe(kStepTasks), world.size),
                     "the same total");
  if (tasks->size() == 1) return tasks->front();
  return tasks->at(static_cast<size_t>(variables.number("SLURM_NODEID", 0, static_cast<int64_t>(tasks->size()) - 1)));
}

std::string read_slurm_master(const World& world, const Variables& variables) {
  if (variables.has("MASTER_ADDR")) return variables.text("MASTER_ADDR");
  if (world.is_one_machine()) return "127.0.0.1";
  const char* const name = variables.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const auto node = first_node(variables.require(name));
  if (!node) variables.refuse(variables.describe(name), "a list of nodes such as \"node[01-04,7]\"");
  return *node;
}

// Computes a port that is the same in all processes of a step without communication. It is below the ports of outgoing
// connections, differs between 10000 jobs, and differs between simultaneous steps.
uint16_t read_slurm_port(const Variables& variables) {
  if (variables.has("MASTER_PORT")) return variables.port("MASTER_PORT");
  const int64_t job = variables.number("SLURM_JOB_ID", 0, INT64_C(1) << 40);
  const int64_t step = variables.number("SLURM_STEP_ID", 0, INT64_C(1) << 40);
  return static_cast<uint16_t>(15000 + (job + 1009 * step) % 10000);
}

World read_slurm(const Variables& variables, int64_t tasks) {
  World world;
  world.launcher = World::Launcher::slurm;
  world.size = tasks;
  world.rank = variables.number("SLURM_PROCID", 0, kMaxProcesses);
  world.local_rank = variables.number("SLURM_LOCALID", 0, kMaxProcesses);
  world.local_size = read_slurm_local_size(world, variables);
  if (variables.has("SLURM_RESTART_COUNT")) world.attempt = variables.number("SLURM_RESTART_COUNT", 0, INT32_MAX);
  refuse_contradictions(
      world, variables,
      {"SLURM_PROCID", variables.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", "SLURM_LOCALID",
       variables.has(kStepTasks) ? kStepTasks : "SLURM_NTASKS_PER_NODE"});
  world.master_address = read_slurm_master(world, variables);
  world.master_port = read_slurm_port(variables);
  return world;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Returns the first number of "01-04,7" with its leading zeros.
std::optional<std::string> first_of_range(const std::string& range) {
  const size_t length = std::min(range.find_first_of("-,"), range.size());
  if (range.find_first_not_of("0123456789-,") != range.npos || length == 0) return std::nullopt;
  return range.substr(0, length);
}

// Reads the number at the start of the text. Returns false if there is none or it is a billion or more.
bool take_number(const char*& from, const char* end, int64_t& number) {
  const char* const start = from;
  if (start == end || !is_digit(*start)) return false;
  const auto [rest, error] = std::from_chars(start, end, number);
  from = rest;
  return error == std::errc() && number < 1'000'000'000;
}

bool take(const char*& from, const char* end, const std::string& word) {
  if (!std::string(from, end).starts_with(word)) return false;
  from += word.size();
  return true;
}

constexpr int64_t kMaxNodes = 1'000'000;

}  // namespace

World read_world(const std::function<const char*(const char*)>& environment) {
  const Variables variables(environment, "start the processes with srun, or unset SLURM_STEP_ID to run as one process");
  if (variables.text(variables::kLauncherPid) == std::to_string(getppid())) return read_tenon(environment);
  if (variables.has("RANK") || variables.has("WORLD_SIZE")) return read_torchrun(environment);
  // In an allocation of SLURM these launchers start with srun, which sets its variables for their daemons.
  if (variables.has("OMPI_COMM_WORLD_SIZE")) return read_open_mpi(environment);
  if (variables.has("PMI_RANK") && variables.has("MPI_LOCALRANKID")) return read_mpich(environment);
  if (const int64_t tasks = count_slurm_tasks(variables); tasks > 1) return read_slurm(variables, tasks);
  return {};
}

const char* name_of(World::Launcher launcher) {
  switch (launcher) {
    case World::Launcher::none: return "no launcher";
    case World::Launcher::tenon: return "host";
    case World::Launcher::torchrun: return "torchrun";
    case World::Launcher::open_mpi: return "mpirun";
    case World::Launcher::mpich: return "mpiexec";
    case World::Launcher::slurm: return "srun";
  }
  return "no launcher";
}

std::optional<std::string> first_node(const std::string& list) {
  std::string name;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] == ']' || std::isspace(static_cast<unsigned char>(list[i]))) return std::nullopt;
    if (list[i] != '[') {
      name += list[i];
      continue;
    }
    const size_t close = list.find(']', i);
    if (close == list.npos) return std::nullopt;
    const auto number = first_of_range(list.substr(i + 1, close - i - 1));
    if (!number) return std::nullopt;
    name += *number;
    i = close;
  }
  return name.empty() ? std::nullopt : std::optional(name);
}

std::optional<std::vector<int64_t>> parse_tasks_per_node(const std::string& text) {
  std::vector<int64_t> tasks;
  const char* from = text.data();
  const char* const end = from + text.size();
  do {
    int64_t of_each = 0;
    int64_t nodes = 1;
    if (!take_number(from, end, of_each)) return std::nullopt;
    if (take(from, end, "(x") && !(take_number(from, end, nodes) && take(from, end, ")"))) return std::nullopt;
    if (static_cast<int64_t>(tasks.size()) + nodes > kMaxNodes) return std::nullopt;
    tasks.insert(tasks.end(), static_cast<size_t>(nodes), of_each);
  } while (take(from, end, ","));
  return from == end ? std::optional(tasks) : std::nullopt;
}

}  // namespace tenon::distributed
