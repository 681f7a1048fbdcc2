// The same layout in C++, which can also compare strings.
#include "sample_names.c"
