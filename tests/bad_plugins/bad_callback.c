/* A callback that counts the steps of a run, with one fault. */
#include <stdlib.h>
#include <tenon/saved_state.h>

#include "describe.h"

typedef struct callback {
  int64_t steps;
} callback;

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  callback* self = calloc(1, sizeof *self);
  (void)from;
  (void)params;
  if (!self) return fail("out of memory");
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status subscribe(void* self, uint64_t* events, int32_t* priority) {
  (void)self;
  *events = TENON_EVENT_BIT(TENON_STEP_END) | TENON_EVENT_BIT(TENON_RUN_END);
  if (FAULT == SUBSCRIBES_TO_THE_UNKNOWN) *events |= TENON_EVENT_BIT(63);
  *priority = 0;
  return TENON_OK;
}

static tenon_status on_event(void* untyped, uint32_t event, const tenon_run* run, tenon_requests* status) {
  callback* self = untyped;
  (void)run;
  if (FAULT == ON_EVENT_THROWS) throw_exception();
  if (event == TENON_STEP_END) ++self->steps;
  status->flags = FAULT == REQUESTS_UNKNOWN_FLAG ? 64 : TENON_REQUEST_LOG;
  return TENON_OK;
}

static tenon_status save(void* untyped, tenon_string* bytes) {
  callback* self = untyped;
  *bytes = tenon_make_string((const char*)&self->steps, sizeof self->steps);
  return TENON_OK;
}

static tenon_status load(void* untyped, tenon_string bytes) {
  callback* self = untyped;
  int64_t steps;
  if (FAULT == LOAD_TRUSTS_ITS_BYTES && bytes.size == 4096) abort();
  if (bytes.size != sizeof steps) return host->fail(TENON_INVALID_ARGUMENT, text("expected eight bytes"));
  memcpy(&steps, bytes.data, sizeof steps);
  if (FAULT != STATE_IS_LOST) self->steps = steps;
  return TENON_OK;
}

static const void* get_extension(tenon_string id) {
  static const tenon_saved_state saved_state = {sizeof saved_state, save, load};
  const int is_requested = id.size == sizeof TENON_SAVED_STATE - 1 && memcmp(id.data, TENON_SAVED_STATE, id.size) == 0;
  return is_requested || FAULT == EXTENSION_FOR_EVERY_ID ? &saved_state : NULL;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_callback table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.subscribe = subscribe;
  table.on_event = on_event;
  return describe(offer, reply, TENON_CALLBACK, &table, get_extension);
}
