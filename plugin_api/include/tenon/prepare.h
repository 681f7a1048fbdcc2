/* Preparing the files of a dataset before it is created, as an extension of a dataset (tenon_component.get_extension):
 * a download, unpacking an archive, building an index. A host that does not know an extension never requests it. */
#ifndef TENON_PREPARE_H
#define TENON_PREPARE_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_PREPARE "tenon.prepare/1"

typedef struct tenon_prepare {
  uint64_t size;

  /* [train] Makes sure that the files exist which create() needs with these parameters. Called before each create(), in
   * every command that reads samples: return quickly if nothing is left to do. If a run has several processes, one
   * process of each machine calls it while the others wait, without a time limit. Processes of several machines may
   * call it at the same time on a shared disk, and a call may be killed: write each file under another name and rename
   * it when it is complete. */
  tenon_status (*prepare)(const tenon_host* host, const tenon_params* params);
} tenon_prepare;
TENON_FREEZE(tenon_prepare, prepare, 16);

#ifdef __cplusplus
}
#endif
#endif
