/* The square of a linear layer with five inputs, with one fault. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/draft/results.h>
#include <tenon/ops.h>

#include "describe.h"
#include "wrong_square.h"

#define INPUTS 5
#define OUTPUTS 4

typedef struct model {
  tenon_ops ops;
  uint64_t weight; /* index within the frame */
  uint64_t bias;
  tenon_tensor* kept;
} model;

static int calls;

/* ---- Creation and ports ------------------------------------------------------------------------------------------ */

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  model* self = calloc(1, sizeof *self);
  (void)params;
  if (!self) return fail("out of memory");
  tenon_ops_open(from, &self->ops);
  *made = self;
  return TENON_OK;
}

static void destroy(void* untyped) {
  model* self = untyped;
  if (FAULT == FORWARD_KEEPS_ITS_WEIGHT) host->release(self->kept);
  free(self);
}

static tenon_status ports(void* self, const tenon_port* const** list, uint64_t* count) {
  static tenon_port input, output;
  static const tenon_port* const both[2] = {&input, &output};
  (void)self;
  if (FAULT == PORTS_THROWS) throw_exception();
  input.size = output.size = sizeof input;
  input.direction = TENON_INPUT;
  input.name = text("features");
  input.shape = text("N,5");
  input.dtypes = TENON_ANY_FLOAT;
  output.direction = TENON_OUTPUT;
  output.name = text(FAULT == PORTS_CHANGE && calls++ % 2 == 1 ? "numbers" : "scores");
  output.shape = text("N,4");
  output.dtypes = TENON_ANY_FLOAT;
  if (FAULT == OUTPUT_OF_ANOTHER_DTYPE) output.dtypes = TENON_DTYPE_BIT(TENON_FLOAT64);
  if (FAULT == PORT_HAS_NO_SUCH_DTYPE) input.dtypes |= TENON_DTYPE_BIT(TENON_COMPLEX128 + 1);
  if (FAULT == PORT_HAS_THE_NUMBER_OF_A_DTYPE) input.dtypes = TENON_FLOAT64;
  if (FAULT == PORT_REFUSES_BFLOAT16) output.dtypes = TENON_DTYPE_BIT(TENON_FLOAT32) | TENON_DTYPE_BIT(TENON_FLOAT64);
  *list = both;
  *count = 2;
  return TENON_OK;
}

static tenon_status declare(const tenon_builder* builder, const char* name, uint32_t ndim, uint64_t* index) {
  static const int64_t shape[2] = {OUTPUTS, INPUTS};
  const tenon_declaration declaration = {.size = sizeof declaration,
                                         .name = text(name),
                                         .shape = shape,
                                         .ndim = ndim,
                                         .dtype = TENON_FLOAT32,
                                         .flags = TENON_TRAINABLE,
                                         .init = TENON_INIT_NORMAL,
                                         .b = 0.5};
  return builder->declare(builder, &declaration, index);
}

static tenon_status build(void* untyped, const tenon_builder* builder) {
  model* self = untyped;
  tenon_status status;
  if (FAULT == BUILD_THROWS) throw_exception();
  status = declare(builder, "weight", 2, &self->weight);
  if (status == TENON_OK && FAULT == BUILD_DECLARES_TWICE) declare(builder, "weight", 2, &self->weight);
  if (status == TENON_OK) status = declare(builder, "bias", 1, &self->bias);
  return status;
}

/* ---- Forward ----------------------------------------------------------------------------------------------------- */

typedef struct foreign_call {
  model* self;
  const tenon_frame* frame;
  tenon_tensor* input;
} foreign_call;

/* The fault is the call itself. The host refuses it. */
static void* call_from_plugin(void* untyped) {
  const foreign_call* call = untyped;
  tenon_calls made = tenon_begin(&call->self->ops, call->frame);
  tenon_mul(&made, call->input, call->input);
  return NULL;
}

static void call_from_another_thread(model* self, const tenon_frame* frame, tenon_tensor* input) {
  foreign_call call = {self, frame, input};
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_from_plugin, &call) == 0) pthread_join(thread, NULL);
}

static tenon_tensor* weight_of(model* self, const tenon_frame* frame) {
  tenon_tensor* weight = frame->tensors[self->weight];
  if (FAULT != FORWARD_KEEPS_ITS_WEIGHT) return weight;
  if (!self->kept) {
    host->retain(weight);
    self->kept = weight;
  }
  return self->kept;
}

static tenon_tensor* call_by_name(tenon_calls* made, tenon_tensor* input) {
  static const tenon_op* found;
  const tenon_value argument = tenon_tensor_value(input);
  return tenon_call_op(made, &found, "aten::exp", "", &argument, 1);
}

/* Faults that change only the output. */
static tenon_tensor* spoil(model* self, tenon_calls* made, tenon_tensor* output) {
  static const int64_t batch = 0;
  switch (FAULT) {
    case OUTPUT_OF_ANOTHER_SHAPE: return tenon_unsqueeze(made, output, 0);
    case OUTPUT_IS_NULL: return NULL;
    case OUTPUT_IS_NAN: return tenon_mul_scalar(made, output, tenon_float(NAN));
    case FORWARD_COUNTS: return tenon_add_scalar(made, output, tenon_float(++calls));
    case GRADIENT_IS_WRONG: return square_wrongly(&self->ops, made, output);
    case GRADIENT_IS_NAN: /* the slope of the root is infinite at 0 */
      return tenon_sqrt(made, tenon_mul_scalar(made, output, tenon_float(0)));
    case OUTPUT_DEPENDS_ON_THE_BATCH: return tenon_sub(made, output, tenon_mean_dims(made, output, &batch, 1, 1));
    case OUTPUT_IS_A_SHARE_OF_THE_BATCH: return tenon_softmax(made, output, batch);
    case OPERATOR_UNDECLARED: return call_by_name(made, output);
    default: return output;
  }
}

static tenon_status forward(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                            tenon_tensor** outputs, uint64_t output_count) {
  model* self = untyped;
  tenon_calls made = tenon_begin(&self->ops, frame);
  tenon_tensor* hidden;
  volatile int forever = FAULT == FORWARD_LOOPS;
  int* volatile nowhere = NULL;
  if (input_count != 1 || output_count != 1) return fail("expected one input and one output");
  if (FAULT == FORWARD_THROWS) throw_exception();
  if (FAULT == FORWARD_CRASHES) *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference) */
  while (forever) continue;
  if (FAULT == RELEASES_A_BORROWED_HANDLE) host->release(inputs[0]);
  if (FAULT == LEAKS_A_HANDLE) host->retain(inputs[0]);
  hidden = tenon_linear(&made, inputs[0], weight_of(self, frame), frame->tensors[self->bias]);
  if (FAULT != GRADIENT_IS_WRONG) hidden = tenon_mul(&made, hidden, hidden);
  if (FAULT == CALLS_FROM_ANOTHER_THREAD) call_from_another_thread(self, frame, inputs[0]);
  outputs[0] = spoil(self, &made, hidden);
  return made.status;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

static tenon_status results(void* self, const tenon_result* const** list, uint64_t* count) {
  static tenon_result best;
  static const tenon_result* const all[] = {&best};
  (void)self;
  best.size = sizeof best;
  best.name = text("best");
  best.is_list = FAULT == RESULT_WITHOUT_LENGTHS;
  *list = all;
  *count = 1;
  return TENON_OK;
}

static tenon_status compute(void* untyped, const tenon_frame* frame, tenon_tensor* const* outputs,
                            uint64_t output_count, tenon_tensor** values, tenon_tensor** lengths,
                            uint64_t result_count) {
  static const int64_t batch = 0, width = 1;
  model* self = untyped;
  tenon_calls made = tenon_begin(&self->ops, frame);
  tenon_tensor* best = tenon_amax(&made, outputs[0], &width, 1, /*keep_dims=*/1);
  (void)output_count;
  (void)lengths;
  (void)result_count;
  if (FAULT == RESULT_DEPENDS_ON_THE_BATCH) best = tenon_sub(&made, best, tenon_mean_dims(&made, best, &batch, 1, 1));
  values[0] = best;
  return made.status;
}

static const void* get_extension(tenon_string id) {
  static const tenon_results table = {sizeof table, results, compute};
  const tenon_string known = text(TENON_RESULTS);
  return id.size == known.size && memcmp(id.data, known.data, id.size) == 0 ? &table : NULL;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_model table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.ports = ports;
  table.build = build;
  table.forward = forward;
  return describe(offer, reply, TENON_MODEL, &table,
                  FAULT == RESULT_DEPENDS_ON_THE_BATCH || FAULT == RESULT_WITHOUT_LENGTHS ? get_extension : NULL);
}
