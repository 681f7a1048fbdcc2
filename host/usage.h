// What --help prints.
#pragma once

#include <string>

namespace tenon::host {

std::string describe_usage();

}  // namespace tenon::host
