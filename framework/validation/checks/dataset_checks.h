#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

std::vector<Check> dataset_checks();

}  // namespace tenon::validation
