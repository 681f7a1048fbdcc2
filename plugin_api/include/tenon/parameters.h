/* The schema of a component's parameters: what run.toml may say under `params`, checked by the host before anything is
 * created, printed by `host --check`, and the source of the configuration reference. */
#ifndef TENON_PARAMETERS_H
#define TENON_PARAMETERS_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENON_PARAM_BOOL = 1,
  TENON_PARAM_INT = 2,
  TENON_PARAM_FLOAT = 3, /* accepts integers too */
  TENON_PARAM_STRING = 4,
  TENON_PARAM_PATH = 5, /* a string; a relative one is taken from the folder of the run file */
  TENON_PARAM_INTS = 6,
  TENON_PARAM_FLOATS = 7,
  TENON_PARAM_STRINGS = 8
};

/* One parameter. Default and range are text, so that lists, open ends and later kinds need no new field, and so that
 * messages and the reference show them as the author wrote them. The host verifies at load that the default satisfies
 * the schema. */
typedef struct tenon_param {
  uint64_t size;
  tenon_string name; /* lower_snake_case */
  uint32_t type;     /* TENON_PARAM_... */
  uint32_t reserved;
  tenon_string default_value; /* a TOML value: `10`, `0.5`, `"train"`, `[1, 2]`; empty: the parameter is required */
  tenon_string range; /* numbers (of lists: each element): an interval such as `[1, inf)` or `(0, 1]`; empty: any */
  const tenon_string* choices; /* strings: the allowed ones; null: any */
  uint64_t choice_count;
  tenon_string doc; /* one sentence, with the unit */
} tenon_param;
TENON_FREEZE(tenon_param, doc, 96);

/* The values for one component: every parameter of its schema, defaults filled in. Read with tenon_host.param. */
typedef struct tenon_params tenon_params;

#ifdef __cplusplus
}
#endif
#endif
