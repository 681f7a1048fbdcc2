/* The headers that rings.zig uses, for zig translate-c. */
#include <tenon/describe.h>
#include <tenon/loss.h>
#include <tenon/ops.h>
#include <tenon/random.h>
