// `host --config run.toml`: trains the model of a run file.
#pragma once

#include "framework/distributed/launch/world.h"
#include "host/training/train_options.h"

namespace tenon::host {

// `world`: rank and size of the run. Returns 0, or 128 + n after signal n. Otherwise throws support::Error, after the
// error was written to run.json.
int run(const TrainOptions& options, const distributed::World& world);

}  // namespace tenon::host
