// The same layout in C++, which can also compare strings.
#include "run_values.c"
