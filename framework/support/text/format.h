// fmt::format. LibTorch's headers may have another version of fmt than the system; cmake/torch_fmt.cpp compiles that one.
#pragma once

#include <fmt/format.h>
