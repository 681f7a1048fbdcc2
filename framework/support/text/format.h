// fmt::format. LibTorch's headers may have another version of fmt than the system, which cmake/torch_fmt.cpp compiles.
#pragma once

#include <fmt/format.h>
