/* A callback: told what happens, and may ask for things; it never acts on the run itself.
 *
 * The loop, with an event a line (tests/pipeline holds the host to this order):
 *
 *   run_setup                                    components are created and connected
 *   run_start
 *     checkpoint_loaded                          only when weights were read
 *     checkpoint_after                           only in a run that goes on: of the checkpoint it goes on from
 *     [validation]                               only with validation.at_start
 *     [checkpoint]                               if that is the best so far, by [checkpoint] monitor
 *     for each epoch:
 *       epoch_start
 *       for each step:
 *         batch_fetched
 *         step_start
 *           forward_end
 *           loss_end
 *           backward_end
 *           grads_ready                          reduced and unscaled, before clipping
 *           optimizer_before
 *           optimizer_after
 *         step_end
 *         log                                    when [log] every says so, or a callback asked
 *         [validation]                           when [validation] every says so, or a callback asked
 *         [checkpoint]                           when [checkpoint] every says so, a callback asked, or the validation
 *                                                was the best so far
 *         stop_requested                         once, when a callback or a signal asked to stop
 *       epoch_end
 *     [validation]                               of the last weights, unless they were validated, or a signal came
 *     [checkpoint]                               of the last weights, unless they were saved, or are the best
 *     checkpoint_loaded                          only with checkpoint.load_best_at_end
 *   run_end                                      also after a stop
 *   run_exception                                in place of run_end, when the run fails
 *   run_teardown                                 always, last
 *
 *   [validation]: for each set validation_start, validation_batch_end for each batch; then validation_end, once, when
 *                 the figures of all sets are there (a signal breaks it off without one)
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

/* The run, read only, as it is at the event. Borrowed for the call. */
typedef struct tenon_run tenon_run;
struct tenon_run {
  uint64_t size;
  void* context;
  int64_t epoch;       /* from 1; 0 before the first */
  int64_t step;        /* optimizer steps done */
  int64_t total_steps; /* planned */
  int64_t steps_per_epoch;
  double time_s;        /* since run_start */
  double learning_rate; /* of the step just done or about to be */
  uint32_t rank;
  uint32_t world_size;
  tenon_string folder; /* the run's own folder, absolute, for files of the plugin's own; empty where there is none */
  tenon_string validation;    /* while a set is validated: its name; else empty */
  int64_t validation_batch;   /* batches of the set that are done */
  int64_t validation_batches; /* batches of the set */
  tenon_string error;         /* at run_exception: what went wrong; else empty */

  /* [train] The latest value of a figure, by its name in the history: `train/loss`, `validation/accuracy`. NaN while it
   * has none yet, so that run_setup is the place to find out whether a figure will exist. TENON_NOT_FOUND, with near
   * names, for any other. `train/...` figures are those of the last line of the history. */
  tenon_status (*figure)(const tenon_run* run, tenon_string name, double* value);

  /* [train] Adds a figure of the plugin's own to the next line of the history; of several values the last counts.
   * Names that begin with `train/` or `validation/` are the host's. */
  tenon_status (*log_scalar)(const tenon_run* run, tenon_string name, double value);

  /* [train] The loss of a step, and how many steps were done with it: NaN and 0 before the first. Where the loss is
   * computed on a device it may be some steps late; `wait` 1 asks for the latest and pays for it with a wait. */
  tenon_status (*step_loss)(const tenon_run* run, uint32_t wait, double* loss, int64_t* step);
};
TENON_FREEZE(tenon_run, step_loss, 160);

enum {
  TENON_ASK_STOP = 1u,     /* end the run after this step */
  TENON_ASK_SAVE = 2u,     /* write a checkpoint after this step */
  TENON_ASK_EVALUATE = 4u, /* validate after this step */
  TENON_ASK_LOG = 8u       /* write a line of history after this step */
};

/* What the callback asks for. The host sets `size` and clears the rest; asks of all callbacks and ranks are OR-ed. */
typedef struct tenon_verdict {
  uint64_t size;
  uint32_t asks; /* TENON_ASK_... */
  uint32_t reserved;
  tenon_string reason; /* why, for the log; must live until on_event is called again or self is destroyed */
} tenon_verdict;
TENON_FREEZE(tenon_verdict, reason, 32);

typedef struct tenon_callback {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] The events it wants, as TENON_EVENT_BIT(...), and its place among the callbacks: a smaller priority is
   * told first, equal ones in the order of the run file. */
  tenon_status (*subscribe)(void* self, uint64_t* events, int32_t* priority);

  /* [train] */
  tenon_status (*on_event)(void* self, uint32_t event, const tenon_run* run, tenon_verdict* verdict);
} tenon_callback;
TENON_FREEZE(tenon_callback, on_event, 40);

#ifdef __cplusplus
}
#endif
#endif
