// The same layout in C++, which can also compare strings.
#include "memory_format.c"
