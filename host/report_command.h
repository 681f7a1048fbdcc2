// `host report`: report.html of a run made again, or several runs on one page.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Throws Error(checkpoint) where a folder is no run's, or a file of it is damaged.
int report(const CommandLine& line);

}  // namespace tenon::host
