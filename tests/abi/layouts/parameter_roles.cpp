// The same layout in C++, which can also compare strings.
#include "parameter_roles.c"
