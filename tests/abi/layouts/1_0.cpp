// The same layout in C++, which can also compare strings.
#include "1_0.c"
