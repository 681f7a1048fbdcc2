// The same layout in C++, which can also compare strings.
#include "layout_class_names.c"
