// Python's arithmetic on sizes, such as `x.shape[0] // 2`. torch.export calls these symbolic integers.
#pragma once

#include <string>

#include "plugins/models/exported/program.h"

namespace exported {

// Returns the function of a target such as `_operator.floordiv` or `torch.sym_max`, or null. It throws
// std::invalid_argument for operands that the function is not defined for, and for results that exceed 64 bits.
SymbolicFunction find_symbolic(const std::string& target);

}  // namespace exported
