/* The golden callback: records each event, logs metrics, makes all four kinds of requests, and has a saved state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/saved_state.h>

#include "golden.h"

enum { kMaxSteps = 8, kMaxValues = 8, kMaxLetters = 64 };

typedef struct golden_callback {
  const tenon_host* host;
  char name[kMaxLetters];
  int32_t priority;
  int64_t stop_at;
  int64_t save_at;
  int64_t log_every;
  uint64_t evaluation_count;
  int64_t evaluate_at[kMaxSteps];
  uint64_t value_count;
  char metrics[kMaxValues][kMaxLetters]; /* names of the metrics to record */
  char reason[kMaxLetters];
  char scalar_name[2 * kMaxLetters];
  int64_t saved[2]; /* number of events so far, step of the last one */
} golden_callback;

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

/* Copies as much of the text as fits, and appends a null character. */
static void copy_text(char* to, size_t room, const char* text, uint64_t size) {
  const size_t count = size < room ? (size_t)size : room - 1;
  if (count > 0) memcpy(to, text, count);
  to[count] = '\0';
}

static tenon_status create(const tenon_host* host, const tenon_params* params, void** made) {
  tenon_value name, priority, stop_at, save_at, log_every, evaluate_at, metrics;
  const expected all[] = {WANTED("name", &name),           WANTED("priority", &priority),
                          WANTED("stop_at", &stop_at),     WANTED("save_at", &save_at),
                          WANTED("log_every", &log_every), WANTED("evaluate_at", &evaluate_at),
                          WANTED("figures", &metrics)};
  const tenon_status status = read_params(host, params, all, COUNT(all));
  if (status != TENON_OK) return status;
  tenon_value none;
  if (host->param(params, TEXT("no_such_parameter"), &none) != TENON_NOT_FOUND) {
    return host->fail(TENON_FAILED, TEXT("the host gave a parameter that the schema does not have"));
  }
  if (evaluate_at.n > kMaxSteps || metrics.n > kMaxValues) {
    return host->fail(TENON_INVALID_ARGUMENT, TEXT("evaluate_at and figures: expected eight or fewer"));
  }
  golden_callback* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  copy_text(self->name, sizeof self->name, name.as.p, name.n);
  self->priority = (int32_t)priority.as.i;
  self->stop_at = stop_at.as.i;
  self->save_at = save_at.as.i;
  self->log_every = log_every.as.i;
  self->evaluation_count = evaluate_at.n;
  if (evaluate_at.n > 0) memcpy(self->evaluate_at, evaluate_at.as.p, evaluate_at.n * sizeof self->evaluate_at[0]);
  self->value_count = metrics.n;
  for (uint64_t i = 0; i < metrics.n; ++i) {
    const tenon_string* metric = (const tenon_string*)metrics.as.p + i;
    copy_text(self->metrics[i], sizeof self->metrics[i], metric->data, metric->size);
  }
  snprintf(self->scalar_name, sizeof self->scalar_name, "golden/%s.events", self->name);
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status subscribe(void* untyped, uint64_t* events, int32_t* priority) {
  const golden_callback* self = untyped;
  *events = (UINT64_C(1) << TENON_EVENT_COUNT) - 1;
  *priority = self->priority;
  return TENON_OK;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static const char* const kEventNames[TENON_EVENT_COUNT] = {
    "run_setup",     "run_start",         "checkpoint_loaded",    "epoch_start",
    "batch_fetched", "step_start",        "forward_end",          "loss_end",
    "backward_end",  "grads_ready",       "optimizer_before",     "optimizer_after",
    "step_end",      "validation_start",  "validation_batch_end", "validation_end",
    "log",           "checkpoint_before", "checkpoint_after",     "stop_requested",
    "epoch_end",     "run_end",           "run_exception",        "run_teardown"};

static void write_metrics(const golden_callback* self, const tenon_run* run, FILE* file) {
  for (uint64_t i = 0; i < self->value_count; ++i) {
    double value = 0;
    const char* name = self->metrics[i];
    const tenon_status status = run->metric(run, tenon_make_string(name, strlen(name)), &value);
    if (status != TENON_OK) {
      fprintf(file, " %s: status %d", name, (int)status);
    } else if (value != value) {
      fprintf(file, " %s=none", name);
    } else {
      fprintf(file, " %s=%.17g", name, value);
    }
  }
}

/* Appends a line to events.txt in the run folder. All golden callbacks share this file, so it shows their order. */
static tenon_status write_down(const golden_callback* self, uint32_t event, const tenon_run* run) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%.*s/events.txt", (int)run->folder.size, run->folder.data);
  if (run->folder.size == 0 || length < 0 || (size_t)length >= sizeof path) return TENON_OK;
  FILE* file = fopen(path, "a");
  if (!file) return self->host->fail(TENON_FAILED, TEXT("events.txt cannot be opened"));
  fprintf(file, "%s %s epoch %lld step %lld/%lld (%lld) rank %u/%u lr %.17g", self->name, kEventNames[event],
          (long long)run->epoch, (long long)run->step, (long long)run->total_steps, (long long)run->steps_per_epoch,
          (unsigned)run->rank, (unsigned)run->world_size, run->learning_rate);
  if (run->validation.size > 0) {
    fprintf(file, " %.*s %lld/%lld", (int)run->validation.size, run->validation.data, (long long)run->validation_batch,
            (long long)run->validation_batches);
  }
  if (run->error.size > 0) fprintf(file, " error");
  if (event == TENON_RUN_SETUP || event == TENON_VALIDATION_END || event == TENON_LOG) write_metrics(self, run, file);
  fprintf(file, "\n");
  fclose(file);
  return TENON_OK;
}

static tenon_status log_metrics(const golden_callback* self, const tenon_run* run) {
  static const char kStepLoss[] = "golden/step_loss";
  double loss = 0;
  int64_t step = 0;
  tenon_status status = run->step_loss(run, 1, &loss, &step);
  if (status == TENON_OK && step == run->step) {
    status = run->log_scalar(run, tenon_make_string(kStepLoss, sizeof kStepLoss - 1), loss);
  }
  if (status != TENON_OK) return status;
  return run->log_scalar(run, tenon_make_string(self->scalar_name, strlen(self->scalar_name)), (double)self->saved[0]);
}

static void request(golden_callback* self, const tenon_run* run, tenon_requests* requests) {
  for (uint64_t i = 0; i < self->evaluation_count; ++i) {
    if (run->step == self->evaluate_at[i]) requests->flags |= TENON_REQUEST_EVALUATE;
  }
  if (run->step == self->save_at) requests->flags |= TENON_REQUEST_SAVE;
  if (self->log_every > 0 && run->step % self->log_every == 0) requests->flags |= TENON_REQUEST_LOG;
  if (run->step != self->stop_at) return;
  const int length = snprintf(self->reason, sizeof self->reason, "step %lld is enough", (long long)run->step);
  requests->flags |= TENON_REQUEST_STOP;
  requests->reason = tenon_make_string(self->reason, (uint64_t)length);
}

static tenon_status on_event(void* untyped, uint32_t event, const tenon_run* run, tenon_requests* requests) {
  golden_callback* self = untyped;
  if (event >= TENON_EVENT_COUNT) return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("an event of a later version"));
  self->saved[0] += 1;
  self->saved[1] = run->step;
  tenon_status status = write_down(self, event, run);
  if (status == TENON_OK && event == TENON_STEP_END) {
    request(self, run, requests);
    status = log_metrics(self, run);
  }
  if (event == TENON_RUN_END) {
    char text[2 * kMaxLetters];
    const int length = snprintf(text, sizeof text, "%s was told of %lld events", self->name, (long long)self->saved[0]);
    self->host->log(TENON_LOG_INFO, tenon_make_string(text, (uint64_t)length));
  }
  return status;
}

/* ---- Saved state ------------------------------------------------------------------------------------------------- */

static tenon_status save(void* untyped, tenon_string* bytes) {
  golden_callback* self = untyped;
  *bytes = tenon_make_string((const char*)self->saved, sizeof self->saved);
  return TENON_OK;
}

static tenon_status load(void* untyped, tenon_string bytes) {
  golden_callback* self = untyped;
  if (bytes.size != sizeof self->saved) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("the state is not one of this callback"));
  }
  memcpy(self->saved, bytes.data, sizeof self->saved);
  return TENON_OK;
}

static const tenon_saved_state kSavedState = {.size = sizeof kSavedState, .save = save, .load = load};

static const void* get_extension(tenon_string id) {
  static const char kId[] = TENON_SAVED_STATE;
  return id.size == sizeof kId - 1 && memcmp(id.data, kId, id.size) == 0 ? &kSavedState : NULL;
}

/* ---- Description of the plugin ----------------------------------------------------------------------------------- */

PARAM(kName, "name", TENON_PARAM_STRING, "what its lines begin with", .default_value = {NULL, 0});
PARAM(kPriority, "priority", TENON_PARAM_INT, "place among the callbacks", .default_value = TENON_STRING("0"),
      .range = TENON_STRING("[-100, 100]"));
PARAM(kStopAt, "stop_at", TENON_PARAM_INT, "step after which it asks to stop; 0: never",
      .default_value = TENON_STRING("0"), .range = TENON_STRING("[0, inf)"));
PARAM(kSaveAt, "save_at", TENON_PARAM_INT, "step after which it asks for a checkpoint; 0: never",
      .default_value = TENON_STRING("0"), .range = TENON_STRING("[0, inf)"));
PARAM(kLogEvery, "log_every", TENON_PARAM_INT, "steps after which it asks for a line of history; 0: never",
      .default_value = TENON_STRING("0"), .range = TENON_STRING("[0, inf)"));
PARAM(kEvaluateAt, "evaluate_at", TENON_PARAM_INTS, "steps after which it asks to validate",
      .default_value = TENON_STRING("[]"), .range = TENON_STRING("[1, inf)"));
PARAM(kMetrics, "figures", TENON_PARAM_STRINGS, "names of figures to be watched", .default_value = TENON_STRING("[]"));
static const tenon_param* const kParams[] = {&kName,     &kPriority,   &kStopAt, &kSaveAt,
                                             &kLogEvery, &kEvaluateAt, &kMetrics};

static const tenon_callback kTable = {
    .size = sizeof kTable, .create = create, .destroy = destroy, .subscribe = subscribe, .on_event = on_event};

static const tenon_component kComponent = {.size = sizeof kComponent,
                                           .kind = TENON_CALLBACK,
                                           .id = TENON_STRING("golden_callback"),
                                           .doc = TENON_STRING("writes down events, and asks for things"),
                                           .params = kParams,
                                           .param_count = COUNT(kParams),
                                           .table = &kTable,
                                           .get_extension = get_extension};
static const tenon_component* const kComponents[] = {&kComponent};

static const tenon_plugin kPlugin = {.size = sizeof kPlugin,
                                     .id = TENON_STRING("golden_callback"),
                                     .version = TENON_STRING("1.0.0"),
                                     .license = TENON_STRING("Apache-2.0"),
                                     .doc = TENON_STRING("The callback that every host of version 1 serves."),
                                     .components = kComponents,
                                     .component_count = COUNT(kComponents)};

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, &kPlugin);
}
