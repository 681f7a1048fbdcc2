// Checks of what a component does besides its task: to the process, to threads, to handles.
#pragma once

#include <vector>

#include "framework/validation/check.h"

namespace tenon::validation {

std::vector<Check> neighbour_checks();

}  // namespace tenon::validation
