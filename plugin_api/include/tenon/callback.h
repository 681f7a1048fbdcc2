/* A callback receives events and may return requests. It never changes the run directly.
 *
 * The training loop, with one event per line (tests/pipeline checks this order):
 *
 *   run_setup                                    components are created and connected
 *   run_start
 *     checkpoint_loaded                          only if weights were loaded
 *     checkpoint_after                           only in a resumed run: the checkpoint that it resumes from
 *     [validation]                               only with validation.at_start
 *     [checkpoint]                               if that is the best result so far, by [checkpoint] monitor
 *     for each epoch:
 *       epoch_start
 *       for each step:
 *         batch_fetched
 *         step_start
 *           forward_end
 *           loss_end
 *           backward_end
 *           grads_ready                          gradients are reduced and unscaled, but not yet clipped
 *           optimizer_before
 *           optimizer_after
 *         step_end
 *         log                                    as set by [log] every, or on request of a callback
 *         [validation]                           as set by [validation] every, or on request of a callback
 *         [checkpoint]                           as set by [checkpoint] every, on request of a callback, or after the
 *                                                best validation so far
 *         stop_requested                         once, after a callback or a signal requested a stop
 *       epoch_end
 *     [validation]                               of the last weights, unless they were validated or a signal arrived
 *     [checkpoint]                               of the last weights, unless they were saved or are the best
 *     checkpoint_loaded                          only with checkpoint.load_best_at_end
 *   run_end                                      also after a stop
 *   run_exception                                instead of run_end, if the run fails
 *   run_teardown                                 always, last
 *
 *   [validation]: for each set validation_start, then validation_batch_end for each batch; validation_end once, after
 *                 the metrics of all sets are computed (a signal ends the validation without validation_end)
 *   [checkpoint]: checkpoint_before, checkpoint_after */
#ifndef TENON_CALLBACK_H
#define TENON_CALLBACK_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENON_RUN_SETUP = 0,
  TENON_RUN_START = 1,
  TENON_CHECKPOINT_LOADED = 2,
  TENON_EPOCH_START = 3,
  TENON_BATCH_FETCHED = 4,
  TENON_STEP_START = 5,
  TENON_FORWARD_END = 6,
  TENON_LOSS_END = 7,
  TENON_BACKWARD_END = 8,
  TENON_GRADS_READY = 9,
  TENON_OPTIMIZER_BEFORE = 10,
  TENON_OPTIMIZER_AFTER = 11,
  TENON_STEP_END = 12,
  TENON_VALIDATION_START = 13,
  TENON_VALIDATION_BATCH_END = 14,
  TENON_VALIDATION_END = 15,
  TENON_LOG = 16,
  TENON_CHECKPOINT_BEFORE = 17,
  TENON_CHECKPOINT_AFTER = 18,
  TENON_STOP_REQUESTED = 19,
  TENON_EPOCH_END = 20,
  TENON_RUN_END = 21,
  TENON_RUN_EXCEPTION = 22,
  TENON_RUN_TEARDOWN = 23
};
#define TENON_EVENT_COUNT 24
#define TENON_EVENT_BIT(event) (UINT64_C(1) << (event))

/* The read-only state of the run at the event. Borrowed for the call. */
typedef struct tenon_run tenon_run;
struct tenon_run {
  uint64_t size;
  void* context;
  int64_t epoch;       /* counted from 1; 0 before the first epoch */
  int64_t step;        /* number of completed optimizer steps */
  int64_t total_steps; /* number of planned optimizer steps */
  int64_t steps_per_epoch;
  double time_s;        /* seconds since run_start */
  double learning_rate; /* learning rate of the step that just ended or is about to run */
  uint32_t rank;
  uint32_t world_size;
  /* absolute path of the run folder, where the plugin may write files; empty if there is no run folder */
  tenon_string folder;
  tenon_string validation;    /* name of the validation set during its validation; otherwise empty */
  int64_t validation_batch;   /* number of completed batches of the validation set */
  int64_t validation_batches; /* number of batches of the validation set */
  tenon_string error;         /* at run_exception: the error message; otherwise empty */

  /* [train] Returns the latest value of a metric by its name in the history, such as `train/loss` or
   * `validation/accuracy`. The value is NaN as long as the metric has no value, so run_setup can already check whether
   * a metric will exist. Returns TENON_NOT_FOUND and lists similar names if the run has no such metric. `train/...`
   * metrics are those of the last line of the history. */
  tenon_status (*metric)(const tenon_run* run, tenon_string name, double* value);

  /* [train] Adds a value of the plugin to the next line of the history. If a name is logged several times, the last
   * value is used. Names that begin with `train/` or `validation/` are reserved for the host. */
  tenon_status (*log_scalar)(const tenon_run* run, tenon_string name, double value);

  /* [train] Returns the loss of a step, and the number of steps that were completed with it. They are NaN and 0 before
   * the first step. If the loss is computed on a device, it may be some steps late. With `wait` 1 the call synchronises
   * with the device and returns the latest loss. */
  tenon_status (*step_loss)(const tenon_run* run, uint32_t wait, double* loss, int64_t* step);
};
TENON_FREEZE(tenon_run, step_loss, 160);

enum {
  TENON_REQUEST_STOP = 1u,     /* end the run after this step */
  TENON_REQUEST_SAVE = 2u,     /* write a checkpoint after this step */
  TENON_REQUEST_EVALUATE = 4u, /* validate after this step */
  TENON_REQUEST_LOG = 8u       /* write a line of history after this step */
};

/* The requests of a callback. The host sets `size` and clears the rest. The requests of all callbacks and ranks are
 * OR-ed. */
typedef struct tenon_requests {
  uint64_t size;
  uint32_t flags; /* TENON_REQUEST_...; any other bit ends the run */
  uint32_t reserved;
  tenon_string reason; /* reason for the log; must stay valid until on_event is called again or self is destroyed */
} tenon_requests;
TENON_FREEZE(tenon_requests, reason, 32);

typedef struct tenon_callback {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Returns the events that the callback subscribes to, as TENON_EVENT_BIT(...), and its priority. Any other
   * bit is an error. Callbacks with a smaller priority are called first. Callbacks of equal priority are called in the
   * order of the run file. */
  tenon_status (*subscribe)(void* self, uint64_t* events, int32_t* priority);

  /* [train] */
  tenon_status (*on_event)(void* self, uint32_t event, const tenon_run* run, tenon_requests* requests);
} tenon_callback;
TENON_FREEZE(tenon_callback, on_event, 40);

#ifdef __cplusplus
}
#endif
#endif
