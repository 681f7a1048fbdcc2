// The same layout in C++, which can also compare strings.
#include "field_details.c"
