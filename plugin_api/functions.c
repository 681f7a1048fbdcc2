/* The functions that the headers define, with external linkage, for languages that cannot include the headers. A plugin
 * in such a language lists its operators in tenon_plugin.operators: here they are all in one object, so the section of
 * called_operators.h would have more than the plugin calls. */
#define TENON_INLINE
#define TENON_CALLED_OPERATORS_H
#define TENON_CALLED_OPERATOR

#include <stddef.h>

static const char* tenon_next_called_operator(const char* name) {
  (void)name;
  return NULL;
}

#include <tenon/describe.h>
#include <tenon/ops.h>
#include <tenon/tenon.h>
