// `host schema`: prints a JSON schema of run files for editors.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

int print_schema(const CommandLine& line);

}  // namespace tenon::host
