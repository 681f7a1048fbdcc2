#pragma once

#include <vector>

#include "framework/validation/check.h"

namespace tenon::validation {

std::vector<Check> dataset_checks();

}  // namespace tenon::validation
