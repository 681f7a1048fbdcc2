/* The functions that the headers define, with external linkage, for languages that cannot include the headers. */
#define TENON_HELPER

#include <tenon/describe.h>
#include <tenon/ops.h>
#include <tenon/tenon.h>
