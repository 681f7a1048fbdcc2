#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

std::vector<Check> create_checks();

}  // namespace tenon::validation
