// The wait policy of OpenMP threads. The host sets its default before the OpenMP library reads the environment.
#pragma once

#include <string>

namespace tenon::host {

// Returns one log line with the wait policy that the OpenMP library read at the start, and where it was set.
std::string describe_wait_policy();

}  // namespace tenon::host
