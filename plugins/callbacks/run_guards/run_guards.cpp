// Callbacks that watch over a run: its time, its loss, its best weights.
#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_guards/best_checkpoints.h"
#include "plugins/callbacks/run_guards/nan_guard.h"
#include "plugins/callbacks/run_guards/time_limit.h"

TENON_PLUGIN("run_guards", "0.1.0", "Apache-2.0", "Watches over a run: its time, its loss, its best weights.",
             tenon::callback<TimeLimit>("time_limit", "asks to stop, with a checkpoint, before the time is up"),
             tenon::callback<NanGuard>("nan_guard", "asks to stop when the loss or a figure jumps and stays up"),
             tenon::callback<BestCheckpoints>("best_checkpoints",
                                              "asks for a checkpoint when a figure is among the best so far"))
