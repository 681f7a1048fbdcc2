// Callbacks that guard a run: time limit, loss spikes, best checkpoints.
#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_guards/best_checkpoints.h"
#include "plugins/callbacks/run_guards/nan_guard.h"
#include "plugins/callbacks/run_guards/time_limit.h"

TENON_PLUGIN("run_guards", "0.1.0", "Apache-2.0", "Guards for a run: time limit, loss spikes, best checkpoints.",
             tenon::callback<TimeLimit>("time_limit", "stops the run with a checkpoint before the time limit"),
             tenon::callback<NanGuard>("nan_guard", "stops the run when the loss or a metric spikes repeatedly"),
             tenon::callback<BestCheckpoints>("best_checkpoints",
                                              "saves a checkpoint when a metric is among the best values so far"))
