#pragma once

#include <vector>

#include "framework/validation/check.h"

namespace tenon::validation {

std::vector<Check> create_checks();

}  // namespace tenon::validation
