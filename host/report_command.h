// `host report`: writes report.html of a run again, or one page for several runs.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Throws Error(checkpoint) if a folder is not a run folder or a file is damaged.
int report(const CommandLine& line);

}  // namespace tenon::host
