/* The values, settings and files of a run, for callbacks that log a run elsewhere, such as to a tracking server. An
 * extension of the host, in addition to the fields of tenon_run. docs/reference/run_folder.md documents the files. */
#ifndef TENON_RUN_VALUES_H
#define TENON_RUN_VALUES_H

#include "callback.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_VALUES "tenon.run-values/1"

typedef struct tenon_run_value {
  tenon_string name; /* as in the history: `train/loss` */
  double value;
} tenon_run_value; /* frozen, like its members */

typedef struct tenon_run_setting {
  tenon_string key;   /* of plan.toml: `optimizer.lr`, `loss[0].weight` */
  tenon_string value; /* as in plan.toml, but text without quotes */
} tenon_run_setting;  /* frozen, like its members */

TENON_STATIC_ASSERT(sizeof(tenon_run_value) == 24, "tenon_run_value is frozen");
TENON_STATIC_ASSERT(sizeof(tenon_run_setting) == 32, "tenon_run_setting is frozen");

enum {
  TENON_RUN_TEMPORARY = 1u /* the run folder is removed after the run, as after --dry-run */
};

/* The result of describe. The caller sets `size` first, and the host fills in the fields that `size` covers. The texts
 * are valid until run_teardown has returned. */
typedef struct tenon_run_description {
  uint64_t size;
  tenon_string name;         /* run.name */
  tenon_string resumed_from; /* folder of the checkpoint that the run resumes from; empty if it does not resume */
  uint32_t flags;            /* TENON_RUN_TEMPORARY; ignore other bits */
  int32_t stop_signal;       /* number of the signal that stopped the run, from stop_requested on; otherwise 0 */
} tenon_run_description;
TENON_FREEZE(tenon_run_description, stop_signal, 48);

/* The table that get_extension(TENON_RUN_VALUES) returns. `run` is the argument of on_event. */
typedef struct tenon_run_values {
  uint64_t size;

  /* [train] Returns the values of this event in the order of the history, borrowed for the call of on_event. They are
   * those that the event adds to the history:
   *   log             the line `step`
   *   validation_end  the lines `validation` of all sets
   *   epoch_end       the line `epoch`; none if the epoch was interrupted
   *   run_end         the lines `test`, if there are test data
   * and none at all other events. They include what callbacks with a smaller priority passed to log_scalar for these
   * lines; at run_end also what the last line has. */
  tenon_status (*values)(const tenon_run* run, const tenon_run_value** values, uint64_t* count);

  /* [train] Returns all values of plan.toml in the order of their keys, valid until run_teardown has returned. */
  tenon_status (*settings)(const tenon_run* run, const tenon_run_setting** settings, uint64_t* count);

  /* [train] Describes the run. */
  tenon_status (*describe)(const tenon_run* run, tenon_run_description* out);

  /* [any] Calls `add` for each file in the run folder and its folders, with the path relative to `folder`, borrowed for
   * the call of `add`. The links checkpoints/latest and checkpoints/best are listed like folders.
   * Skips files and folders with a name that starts with a dot, such as temporary ones. The host has written all files
   * of a run when it destroys the callback. Returns TENON_NOT_FOUND if the folder cannot be read. */
  tenon_status (*files)(tenon_string folder, void* context, void (*add)(void* context, tenon_string path));
} tenon_run_values;
TENON_FREEZE(tenon_run_values, files, 40);

#ifdef __cplusplus
}
#endif
#endif
