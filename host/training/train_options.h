// The options of training: `host --config run.toml`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/pipeline/state/events.h"
#include "host/command_line/arguments.h"

namespace tenon::host {

struct TrainOptions {
  RunFile file;
  bool is_check = false;          // build everything, print the plan and end
  bool is_dry_run = false;        // one batch of each dataset; nothing is kept
  bool is_quiet = false;          // no standard output
  bool is_verbose = false;        // log.txt is also written to standard error
  bool logs_json = false;         // one JSON object per line
  std::string resume;             // argument of find_checkpoint(); empty: a new run
  int64_t restarts = 0;           // maximum number of restarts after a lost process
  int64_t processes = 0;          // --processes, which is also in the overrides; 0: not given
  int64_t least_processes = 0;    // the first number of --processes MIN:MAX; 0: there is only one number
  int64_t first_traced_step = 0;  // counted from 1; 0: no trace
  int64_t last_traced_step = 0;
  std::vector<std::string> command_line;       // with the program
  std::vector<pipeline::Observer*> observers;  // in addition to those that the other options and the plan request
};

}  // namespace tenon::host
