/* The mean of all numbers, with one fault. */
#include <math.h>
#include <stdlib.h>
#include <tenon/ops.h>

#include "describe.h"

enum { SUM = 0, COUNT = 1 };

typedef struct metric {
  tenon_ops ops;
  double remembered;
} metric;

static int calls;

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  metric* self = calloc(1, sizeof *self);
  (void)params;
  if (!self) return fail("out of memory");
  tenon_ops_open(from, &self->ops);
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status ports(void* self, const tenon_port* const** list, uint64_t* count) {
  static tenon_port numbers;
  static const tenon_port* const one[1] = {&numbers};
  (void)self;
  numbers.size = sizeof numbers;
  numbers.direction = TENON_INPUT;
  numbers.name = text("numbers");
  numbers.shape = text("N,C");
  numbers.dtypes = TENON_ANY_FLOAT;
  if (FAULT == PORT_IS_INT16) numbers.dtypes = TENON_FLOAT32; /* the set of int16 alone */
  *list = one;
  *count = 1;
  return TENON_OK;
}

static tenon_status states(void* self, const tenon_state* const** list, uint64_t* count) {
  static tenon_state sum, number;
  static const tenon_state* const both[2] = {&sum, &number};
  (void)self;
  if (FAULT == STATES_THROWS) throw_exception();
  sum.size = number.size = sizeof sum;
  sum.name = text("sum");
  number.name = text("count");
  sum.dtype = number.dtype = TENON_FLOAT64;
  sum.reduction = number.reduction = TENON_REDUCE_SUM;
  if (FAULT == PARTS_DO_NOT_ADD_UP) number.reduction = TENON_REDUCE_MAX;
  *list = both;
  *count = 2;
  return TENON_OK;
}

static tenon_status values(void* self, const tenon_metric_value* const** list, uint64_t* count) {
  static tenon_metric_value mean;
  static const tenon_metric_value* const one[1] = {&mean};
  (void)self;
  mean.size = sizeof mean;
  mean.name = text(FAULT == VALUES_CHANGE && calls++ % 2 == 1 ? "average" : "mean");
  *list = one;
  *count = 1;
  return TENON_OK;
}

static tenon_status update(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count) {
  metric* self = untyped;
  tenon_calls made = tenon_begin(&self->ops, frame);
  tenon_tensor* input = inputs[0];
  if (input_count != 1) return fail("expected one input");
  if (FAULT == UPDATE_THROWS) throw_exception();
  tenon_add_in_place(&made, frame->tensors[SUM], tenon_sum(&made, input));
  tenon_add_in_place(&made, frame->tensors[COUNT], tenon_sum(&made, tenon_ones_like(&made, input)));
  return made.status;
}

static tenon_status compute(void* untyped, const tenon_frame* frame, double* values, uint64_t count) {
  metric* self = untyped;
  void* sum = NULL;
  void* number = NULL;
  tenon_status status = host->tensor_data(frame->tensors[SUM], &sum);
  if (status == TENON_OK) status = host->tensor_data(frame->tensors[COUNT], &number);
  if (status != TENON_OK) return status;
  if (count != 1) return fail("expected one value");
  if (FAULT == COMPUTE_THROWS) throw_exception();
  if (FAULT == METRIC_REMEMBERS) self->remembered += *(double*)number;
  values[0] = *(double*)number > 0 ? *(double*)sum / (*(double*)number + self->remembered) : NAN;
  if (FAULT == COMPUTE_GIVES_INFINITY) values[0] = 1 / (0 * *(double*)number);
  return TENON_OK;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_metric table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.ports = ports;
  table.states = states;
  table.values = values;
  table.update = update;
  table.compute = compute;
  return describe(offer, reply, TENON_METRIC, &table, NULL);
}
