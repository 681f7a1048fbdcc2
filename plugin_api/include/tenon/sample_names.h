/* The names of samples, as an extension of a dataset (tenon_component.get_extension). Predictions show them: the path
 * of an image, or the row of a table. A host that does not know an extension never requests it. */
#ifndef TENON_SAMPLE_NAMES_H
#define TENON_SAMPLE_NAMES_H

#include "abi.h"
#include "tokenizer.h" /* tenon_text_sink */

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SAMPLE_NAMES "tenon.sample-names/1"

typedef struct tenon_sample_names {
  uint64_t size;

  /* [train] Puts the name of a sample, 0 <= index < length, as UTF-8: a path relative to the folder of the data. It
   * must not be empty, and must not change. Worker threads may read samples at the same time. */
  tenon_status (*name)(void* self, int64_t index, const tenon_text_sink* sink);
} tenon_sample_names;
TENON_FREEZE(tenon_sample_names, name, 16);

#ifdef __cplusplus
}
#endif
#endif
