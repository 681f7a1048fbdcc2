/* An extension of the host for plugins that load machine code from a file that a parameter names. Such a file acts with
 * all rights of the user, as a plugin does, so the rule for plugins applies to it. */
#ifndef TENON_TRUSTED_FILES_H
#define TENON_TRUSTED_FILES_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_TRUSTED_FILES "tenon.trusted-files/1"

/* The table that get_extension(TENON_TRUSTED_FILES) returns. */
typedef struct tenon_trusted_files {
  uint64_t size;

  /* [any] Checks that only root and the user that runs the host can write the file and its directory. Otherwise reports
   * the reason and what to do with tenon_host.fail, and returns TENON_INVALID_ARGUMENT. Call it before the file is
   * read. */
  tenon_status (*check)(tenon_string path);
} tenon_trusted_files;
TENON_FREEZE(tenon_trusted_files, check, 16);

#ifdef __cplusplus
}
#endif
#endif
