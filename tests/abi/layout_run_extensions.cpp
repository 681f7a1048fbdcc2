// The same layout for C++, where texts can be compared too.
#include "layout_run_extensions.c"
