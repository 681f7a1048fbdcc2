// `host schema`: what a run file may say, for editors.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

int print_schema(const CommandLine& line);

}  // namespace tenon::host
