// Checks of a component's side effects: on the process, on threads and on handles.
#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

std::vector<Check> isolation_checks();

}  // namespace tenon::validation
