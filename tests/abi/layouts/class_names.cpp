// The same layout in C++, which can also compare strings.
#include "class_names.c"
