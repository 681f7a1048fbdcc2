// How OpenMP threads wait for each other: the host's default, chosen before the OpenMP library reads the environment.
#pragma once

#include <string>

namespace tenon::host {

// The wait policy that the OpenMP library read when the process started, and what set it: one line for the log.
std::string describe_wait_policy();

}  // namespace tenon::host
