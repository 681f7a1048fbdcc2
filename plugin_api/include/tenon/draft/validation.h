/* Checks of `host validate` that do not hold for a component, as an extension of a component
 * (tenon_component.get_extension). A contrastive loss compares each sample with the others of its batch, so that the
 * loss of a batch is not the mean of those of its parts. The checks `adds-up`, `class-numbers`, `sample-by-sample` and
 * `starts-no-threads` can be excepted. A run does not request this extension. A draft: it may change or be removed in
 * any release. */
#ifndef TENON_VALIDATION_H
#define TENON_VALIDATION_H

#include "../abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_VALIDATION "tenon.draft.validation/1"

typedef struct tenon_exception {
  uint64_t size;
  tenon_string check;  /* name of a check: `adds-up` */
  tenon_string reason; /* not empty; the report has it: `the other samples of a batch are its negatives` */
} tenon_exception;
TENON_FREEZE(tenon_exception, reason, 40);

typedef struct tenon_validation {
  uint64_t size;

  /* [train] Returns the exceptions. They are valid while the plugin is loaded. */
  tenon_status (*exceptions)(const tenon_exception* const** exceptions, uint64_t* count);
} tenon_validation;
TENON_FREEZE(tenon_validation, exceptions, 16);

#ifdef __cplusplus
}
#endif
#endif
