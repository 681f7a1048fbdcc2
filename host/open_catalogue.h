// The plugins of a run file.
#pragma once

#include "framework/config/run_config.h"
#include "framework/plugins/catalogue.h"
#include "host/command_line.h"

namespace tenon::host {

// Loads LibTorch and opens every plugin that is found: of the command line, of the run file and of the usual folders.
// Throws Error(plugin) as Catalogue::open does.
plugins::Catalogue open_catalogue(const CommandLine& line, const config::RunConfig& config);

}  // namespace tenon::host
