#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

std::vector<Check> loss_checks();

}  // namespace tenon::validation
