// The same layout in C++, which can also compare strings.
#include "tied_weights.c"
