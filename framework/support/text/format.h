// fmt::format. LibTorch's headers have another version of fmt than the system, and no library of it.
#pragma once

#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <fmt/format.h>
