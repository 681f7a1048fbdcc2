/* A dataset of ten samples with a label and three numbers each, with one fault. */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/draft/validation.h>

#include "describe.h"

#define VALUES 3
#define CLASSES 100
#define MASK_CLASSES 3

typedef struct dataset {
  int64_t length;
} dataset;

#ifdef HAS_OPENCV
extern void set_opencv_threads(int) __asm__("_ZN2cv13setNumThreadsEi"); /* cv::setNumThreads */
#endif

static int64_t calls;  /* number of calls of the faulty function */
static int64_t last;   /* index of the last sample */
static int64_t shared; /* shared by all threads */
static int created;
static const char* field_name = "values";

/* ---- Creation and fields ----------------------------------------------------------------------------------------- */

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  tenon_value items;
  tenon_status status;
  dataset* self;
  if (FAULT == CREATE_THROWS) throw_exception();
  status = from->param(params, text("items"), &items);
  if (status != TENON_OK) return status;
  if (FAULT == CREATE_ABORTS_ON_A_PARAMETER && items.as.i == 7) abort();
  if (FAULT == CREATE_FAILS_WITHOUT_A_REASON && items.as.i == 100) return TENON_FAILED;
  if (FAULT == CREATE_ONLY_ONCE && created) return fail("there is one already");
  self = calloc(1, sizeof *self);
  if (!self) return fail("out of memory");
  created = 1;
  self->length = items.as.i;
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) {
  created = 0;
  free(self);
}

static tenon_status length(void* self, int64_t* number) {
  if (FAULT == LENGTH_THROWS) throw_exception();
  if (FAULT == LENGTH_ABORTS) abort();
  *number = ((dataset*)self)->length;
  if (FAULT == LENGTH_CHANGES) *number -= calls++ % 2;
  return TENON_OK;
}

static tenon_status fields(void* self, const tenon_field* const** list, uint64_t* count) {
  static const int64_t shape[1] = {VALUES};
  static tenon_field label, values, mask;
  static const tenon_field* const all[3] = {&label, &values, &mask};
  (void)self;
  if (FAULT == FIELDS_THROWS) throw_exception();
  if (FAULT == FIELDS_ALIKE) field_name = "label";
  if (FAULT == FIELDS_CHANGE) field_name = calls++ % 2 == 0 ? "values" : "numbers";
  label.size = values.size = mask.size = sizeof label;
  mask.name = text("mask");
  mask.dtype = TENON_UINT8;
  mask.ndim = 1;
  mask.shape = shape;
  label.name = text("label");
  label.dtype = TENON_INT64;
  values.name = text(field_name);
  values.dtype = TENON_FLOAT32;
  values.ndim = 1;
  values.shape = shape;
  *list = all;
  *count = 3;
  return TENON_OK;
}

static tenon_status open_worker(void* self, uint64_t id, uint64_t seed, void** worker) {
  (void)self;
  (void)id;
  (void)seed;
  if (FAULT == OPEN_WORKER_THROWS) throw_exception();
  *worker = malloc(1);
  return TENON_OK;
}

static void close_worker(void* self, void* worker) {
  (void)self;
  free(worker);
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

/* Changes a setting of the whole process. */
static void change_the_process(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  if (FAULT == GET_SETS_LOCALE) setlocale(LC_ALL, "C.UTF-8");
  if (FAULT == GET_BLOCKS_A_SIGNAL) sigprocmask(SIG_BLOCK, &signals, NULL);
  if (FAULT == GET_HANDLES_A_SIGNAL) signal(SIGUSR1, SIG_IGN);
  if (FAULT == GET_SETS_UMASK) umask(0);
  if (FAULT == GET_CHANGES_DIRECTORY && chdir("/") != 0) abort();
  if (FAULT == GET_CLOSES_A_DESCRIPTOR) close(STDIN_FILENO);
  if (FAULT == GET_REDIRECTS_OUTPUT && dup2(STDIN_FILENO, STDOUT_FILENO) < 0) abort();
  if (FAULT == GET_SETS_A_VARIABLE) setenv("TENON_TESTS_BAD_PLUGIN", "1", 1);
  if (FAULT == GET_ROUNDS_UPWARD) fesetround(FE_UPWARD);
  if (FAULT == GET_RESETS_SIGTERM) signal(SIGTERM, SIG_DFL);
  if (FAULT == GET_PRINTS) puts("reading a sample");
}

static void* wait_forever(void* unused) {
  for (;;) pause();
  return unused;
}

/* The faults of a sample in the middle. */
static void change_the_process_late(int64_t index) {
  static int started;
  pthread_t thread;
  int i;
  if (FAULT == LATE_GET_SETS_LOCALE && index == 8) setlocale(LC_ALL, "C.UTF-8");
  if (FAULT == LATE_GET_ROUNDS_UPWARD && index == 8) fesetround(FE_UPWARD);
#ifdef HAS_OPENCV
  if (FAULT == GET_SETS_OPENCV_THREADS) set_opencv_threads(7);
#endif
  if (started || index < 4 || (FAULT != GET_STARTS_A_THREAD && FAULT != GET_STARTS_A_POOL)) return;
  started = 1;
  for (i = 0; i < (FAULT == GET_STARTS_A_POOL ? 4 : 1); ++i) pthread_create(&thread, NULL, wait_forever, NULL);
}

/* Writes the number to a shared buffer, waits for another thread to write to it, and reads it again. */
static int64_t pass_through_shared(int64_t number) {
  int64_t* volatile buffer = &shared;
  int i;
  __atomic_store_n(buffer, number, __ATOMIC_SEQ_CST);
  for (i = 0; i < 1000 && __atomic_load_n(buffer, __ATOMIC_SEQ_CST) == number; ++i) sched_yield();
  return __atomic_load_n(buffer, __ATOMIC_SEQ_CST);
}

static int64_t label_of(const tenon_sample* sample) {
  int64_t label = FAULT == GET_REMEMBERS_THE_LAST && sample->index != 0 ? 100 * last + sample->index : sample->index;
  if (FAULT == GET_COUNTS) label += calls++;
  if (FAULT == CLASS_IS_BEYOND_THE_LAST && sample->index == 4) label = CLASSES;
  if (FAULT == GET_SHARES_A_BUFFER) label = pass_through_shared(label);
  last = sample->index;
  return label;
}

static void write_values(float* values, int64_t index) {
  int i;
  for (i = 0; i < VALUES; ++i)
    if (FAULT != GET_LEAVES_AN_ELEMENT || index != 4 || i != 1) values[i] = (float)(index + i);
  if (FAULT == GET_WRITES_PAST_THE_SLOT && index == 4) values[VALUES] = 0;
  if (FAULT == GET_WRITES_BEFORE_THE_SLOT && index == 4) values[-1] = 0;
  if (FAULT == GET_GIVES_NAN && index == 4) values[0] = NAN;
}

/* Classes of pixels, with one number for those without a class. */
static void write_mask(uint8_t* mask, int64_t index) {
  int i;
  for (i = 0; i < VALUES; ++i) mask[i] = (uint8_t)((index + i) % MASK_CLASSES + (FAULT == MASK_COUNTS_FROM_1));
  if (index % 2 == 0) mask[0] = 255;
}

static tenon_status get(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink) {
  const int64_t shape[1] = {FAULT == GET_REQUESTS_ANOTHER_SHAPE ? VALUES + 1 : VALUES};
  void* label;
  void* values;
  tenon_status status;
  (void)self;
  (void)worker;
  if (FAULT == GET_THROWS) throw_exception();
  if (FAULT == GET_EXITS) _exit(3);
  if (FAULT == GET_LEAVES_BY_EXIT_0) exit(0);
  change_the_process();
  change_the_process_late(sample->index);
  status = sink->slot(sink, 0, NULL, 0, &label);
  if (status != TENON_OK) return status;
  *(int64_t*)label = label_of(sample);
  if (FAULT == GET_FORGETS_A_FIELD) return TENON_OK;
  status = sink->slot(sink, 1, shape, 1, &values);
  if (status != TENON_OK) return status;
  write_values(values, sample->index);
  status = sink->slot(sink, 2, shape, 1, &values);
  if (status == TENON_OK) write_mask(values, sample->index);
  return status;
}

static tenon_status fingerprint(void* self, uint64_t* number) {
  (void)self;
  *number = 12345;
  if (FAULT == FINGERPRINT_CHANGES) *number += (uint64_t)calls++;
  return TENON_OK;
}

/* ---- Lengths and weights ----------------------------------------------------------------------------------------- */

static tenon_status lengths(void* self, int64_t* numbers) {
  const int64_t count = ((const dataset*)self)->length;
  int64_t i;
  for (i = 0; i < count; ++i) numbers[i] = VALUES;
  if (FAULT == LENGTH_IS_NEGATIVE) numbers[4] = -1;
  if (FAULT == LENGTHS_CHANGE) numbers[4] += calls++;
  if (FAULT == LENGTHS_ARE_TOO_MANY) numbers[count] = VALUES;
  return TENON_OK;
}

static tenon_status weights(void* self, double* numbers) {
  int64_t i;
  for (i = 0; i < ((const dataset*)self)->length; ++i) numbers[i] = FAULT == WEIGHTS_ARE_ZERO ? 0 : 1;
  if (FAULT == WEIGHT_IS_NAN) numbers[4] = NAN;
  return TENON_OK;
}

/* ---- Classes and exceptions -------------------------------------------------------------------------------------- */

static tenon_status classes(void* self, const tenon_class_names* const** lists, uint64_t* count) {
  static tenon_class_names label, mask;
  static const tenon_class_names* const both[2] = {&label, &mask};
  (void)self;
  label.size = mask.size = sizeof label;
  label.field = text("label");
  mask.field = text("mask");
  label.count = FAULT == GET_REMEMBERS_THE_LAST ? 100 * CLASSES : CLASSES;
  mask.count = MASK_CLASSES;
  *lists = both;
  *count = 2;
  return TENON_OK;
}

static tenon_status exceptions(const tenon_exception* const** list, uint64_t* count) {
  static tenon_exception exception;
  static const tenon_exception* const one[1] = {&exception};
  exception.size = sizeof exception;
  exception.check = text(FAULT == EXCEPTION_TO_ANY_CHECK ? "repeats" : "starts-no-threads");
  exception.reason = text(FAULT == EXCEPTION_WITHOUT_A_REASON ? "" : "its decoder has a thread");
  *list = one;
  *count = 1;
  return TENON_OK;
}

static const void* get_extension(tenon_string id) {
  static const tenon_class_lists by_class = {sizeof by_class, classes};
  static const tenon_validation by_check = {sizeof by_check, exceptions};
  static const tenon_sample_lengths by_length = {sizeof by_length, FAULT == LENGTHS_TABLE_IS_EMPTY ? NULL : lengths};
  static const tenon_sample_weights by_weight = {sizeof by_weight, weights};
  if (is_id(id, TENON_CLASS_NAMES)) return &by_class;
  if ((FAULT == EXCEPTION_TO_ANY_CHECK || FAULT == EXCEPTION_WITHOUT_A_REASON) && is_id(id, TENON_VALIDATION))
    return &by_check;
  if (is_id(id, TENON_SAMPLE_LENGTHS)) return &by_length;
  return is_id(id, TENON_SAMPLE_WEIGHTS) ? &by_weight : NULL;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_dataset table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.length = length;
  table.fields = fields;
  table.open_worker = open_worker;
  table.close_worker = close_worker;
  table.get = get;
  table.fingerprint = fingerprint;
  return describe(offer, reply, TENON_DATASET, &table, get_extension);
}
