// Warnings of the log, for a command that lists them with what else it finds.
#pragma once

#include <string>
#include <vector>

namespace tenon::support {

// From now on, the terminal shows only errors, and take_warnings() returns the warnings.
void collect_warnings();

// [any thread] Those since the last call, in order.
std::vector<std::string> take_warnings();

}  // namespace tenon::support
