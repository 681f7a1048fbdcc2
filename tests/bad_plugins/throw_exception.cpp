// Throws an exception, as a C++ library may that a plugin in C calls without a guard.
#include <stdexcept>

#include "fault.h"

extern "C" void throw_exception() { throw std::runtime_error("thrown below a plugin"); }
