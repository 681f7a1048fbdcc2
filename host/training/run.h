// `host --config run.toml`: trains the model of a run file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/distributed/launch/world.h"
#include "framework/pipeline/state/events.h"
#include "host/command_line/command.h"

namespace tenon::host {

// What a command with one process or several needs.
struct LaunchOptions {
  RunFile file;
  std::vector<std::string> command_line = {};  // with the program
  int64_t processes = 0;                       // --processes, which is also in the overrides; 0: not given
  int64_t least_processes = 0;                 // the first number of --processes MIN:MAX; 0: there is only one number
  int64_t restarts = 0;                        // maximum number of restarts after a lost process
};

struct TrainOptions : LaunchOptions {
  bool is_check = false;          // build everything, print the plan and end
  bool is_dry_run = false;        // one batch of each dataset; nothing is kept
  bool is_quiet = false;          // no standard output
  bool is_verbose = false;        // log.txt is also written to standard error
  bool logs_json = false;         // one JSON object per line
  std::string resume;             // argument of find_checkpoint(); empty: a new run
  int64_t first_traced_step = 0;  // counted from 1; 0: no trace
  int64_t last_traced_step = 0;
  std::vector<pipeline::Observer*> observers;  // in addition to those that the other options and the plan request
};

// Trains in this process, alone or as a rank; with `is_check`, only builds the run and prints its plan. `world`: rank
// and size of the run. Returns 0, or 128 + n after signal n. Otherwise throws support::Error, after the error was
// written to run.json.
int train_in_this_process(const TrainOptions& options, const distributed::World& world);

}  // namespace tenon::host
