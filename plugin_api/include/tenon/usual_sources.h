/* The fields and outputs that an input is usually connected to, as an extension of a model, loss or metric
 * (tenon_component.get_extension). An input is connected to the source that the run file names, else to the one with
 * its name, else to the first usual source that exists and fits, else to the only one that fits. A host that does not
 * know an extension never requests it. */
#ifndef TENON_USUAL_SOURCES_H
#define TENON_USUAL_SOURCES_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_USUAL_SOURCES "tenon.usual-sources/1"

typedef struct tenon_usual_source {
  tenon_string input;  /* name of the input port: `target` */
  tenon_string source; /* name of a field of the data or of an output of the model: `label` or `data.label` */
} tenon_usual_source;  /* frozen, like its members */

TENON_STATIC_ASSERT(sizeof(tenon_usual_source) == 32, "tenon_usual_source is frozen");

typedef struct tenon_usual_sources {
  uint64_t size;

  /* [train] Returns the pairs, valid while self lives. An input may occur several times; earlier sources come first. */
  tenon_status (*sources)(void* self, const tenon_usual_source** sources, uint64_t* count);
} tenon_usual_sources;
TENON_FREEZE(tenon_usual_sources, sources, 16);

#ifdef __cplusplus
}
#endif
#endif
