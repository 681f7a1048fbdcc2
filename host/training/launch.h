// Decides whether this process trains alone, trains as a rank, or launches the ranks.
#pragma once

#include <optional>

#include "framework/distributed/world.h"
#include "host/training/train_options.h"

namespace tenon::host {

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Returns the exit code of the run after all have ended. Returns nothing if this process trains, alone or as a rank.
// Throws Error(configuration) for an invalid environment, or if --processes is given under another launcher.
std::optional<int> launch(const TrainOptions& options, const distributed::World& world);

}  // namespace tenon::host
