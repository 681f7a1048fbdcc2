// Checks of a plugin's file and description.
#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

std::vector<Check> load_checks();

}  // namespace tenon::validation
