#pragma once

#include <vector>

#include "framework/validation/session/check.h"

namespace tenon::validation {

// Checks of datasets that provide the lengths or the weights of their samples.
std::vector<Check> sample_order_checks();

}  // namespace tenon::validation
