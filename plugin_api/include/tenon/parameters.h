/* The schema of a component's parameters: the keys that the run file may set under `params`. The host checks the values
 * before it creates any component, and `host --check` prints them. The configuration reference is generated from the
 * schema. */
#ifndef TENON_PARAMETERS_H
#define TENON_PARAMETERS_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENON_PARAM_BOOL = 1,
  TENON_PARAM_INT = 2,
  TENON_PARAM_FLOAT = 3, /* also accepts integers */
  TENON_PARAM_STRING = 4,
  TENON_PARAM_PATH = 5, /* a string; a relative path is relative to the folder of the run file */
  TENON_PARAM_INTS = 6,
  TENON_PARAM_FLOATS = 7,
  TENON_PARAM_STRINGS = 8
};

/* One parameter. Default and range are text, so that lists, open intervals and later types need no new field, and so
 * that messages and the reference show them as the author wrote them. The host verifies at load that the default
 * satisfies the schema. */
typedef struct tenon_param {
  uint64_t size;
  tenon_string name; /* lower_snake_case */
  uint32_t type;     /* TENON_PARAM_... */
  uint32_t reserved;
  /* a TOML value such as `10`, `0.5`, `"train"`, `[1, 2]`; empty: the parameter is required */
  tenon_string default_value;
  /* interval for a number, or for each element of a list, such as `[1, inf)` or `(0, 1]`; empty: any number */
  tenon_string range;
  const tenon_string* choices; /* allowed values of a string; null: any */
  uint64_t choice_count;
  tenon_string doc; /* one sentence, with the unit */
} tenon_param;
TENON_FREEZE(tenon_param, doc, 96);

/* The parameter values of one component: all parameters of its schema, with defaults filled in. Read them with
 * tenon_host.param. */
typedef struct tenon_params tenon_params;

#ifdef __cplusplus
}
#endif
#endif
