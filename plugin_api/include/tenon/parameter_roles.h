/* What parameters stand for in a run, as an extension of a component (tenon_component.get_extension). The host compares
 * such a value with the run before the first step. A host that does not know an extension never requests it. */
#ifndef TENON_PARAMETER_ROLES_H
#define TENON_PARAMETER_ROLES_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_PARAMETER_ROLES "tenon.parameter-roles/1"

/* Of a callback, a string or a list of strings: names of metrics in the history, such as "validation/loss". A name that
 * the run cannot have ends it before the first step. A name that another callback may log must exist after the first
 * validation. An empty string names no metric. */
#define TENON_ROLE_METRIC 1u

/* Of a model, a loss or a metric, an integer: a size that the data know. If the run file leaves the parameter out, the
 * host replaces its default by the size of the data, or of the weights that the model loads, if that is known and
 * within the parameter's range.
 *
 * CLASSES     the number of classes of the targets, see class_names.h
 * CHANNELS    the first extent of an image [channels, height, width]
 * FEATURES    the number of values of an input in one sample, over all its dimensions
 * VOCABULARY  the number of tokens of the dataset's tokenizer, see tokenizer.h */
#define TENON_ROLE_CLASSES 2u
#define TENON_ROLE_CHANNELS 3u
#define TENON_ROLE_FEATURES 4u
#define TENON_ROLE_VOCABULARY 5u

/* Of a dataset, a list of strings: paths of folders or files. If it is not empty, the samples are these inputs in place
 * of those that the other parameters describe, in this order, and read in the same way. fields() leaves out the fields
 * that come from labels. The default is an empty list. `host predict --input` sets it; relative paths start from the
 * working directory. */
#define TENON_ROLE_UNLABELLED 16u

typedef struct tenon_parameter_role {
  tenon_string parameter; /* its name in the schema */
  uint32_t role;          /* TENON_ROLE_...; a host ignores roles that it does not know */
  uint32_t reserved;      /* 0 */
} tenon_parameter_role;   /* frozen, like its members */

TENON_STATIC_ASSERT(sizeof(tenon_parameter_role) == 24, "tenon_parameter_role is frozen");

typedef struct tenon_parameter_roles {
  uint64_t size;

  /* [load] Returns the roles, valid while the plugin is loaded. The component needs no instance. */
  tenon_status (*roles)(const tenon_parameter_role** roles, uint64_t* count);
} tenon_parameter_roles;
TENON_FREEZE(tenon_parameter_roles, roles, 16);

#ifdef __cplusplus
}
#endif
#endif
