// The same layout in C++, which can also compare strings.
#include "fitted_data.c"
