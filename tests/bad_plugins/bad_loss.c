/* The mean squared error, with one fault. */
#include <math.h>
#include <stdlib.h>
#include <tenon/draft/validation.h>
#include <tenon/ops.h>

#include "describe.h"
#include "wrong_square.h"

typedef struct loss {
  tenon_ops ops;
} loss;

static int calls;

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  loss* self = calloc(1, sizeof *self);
  (void)params;
  if (!self) return fail("out of memory");
  tenon_ops_open(from, &self->ops);
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status ports(void* self, const tenon_port* const** list, uint64_t* count) {
  static tenon_port found, target;
  static const tenon_port* const both[2] = {&found, &target};
  (void)self;
  found.size = target.size = sizeof found;
  found.direction = target.direction = TENON_INPUT;
  found.name = text("found");
  target.name = text("target");
  found.shape = target.shape = text("N,...S");
  found.dtypes = target.dtypes = TENON_ANY_FLOAT;
  *list = both;
  *count = 2;
  return TENON_OK;
}

/* The mean of each number's largest square in the batch. */
static tenon_tensor* mean_of_worst(tenon_calls* made, tenon_tensor* squares) {
  static const int64_t batch = 0;
  return tenon_mean(made, tenon_amax(made, squares, &batch, 1, 0));
}

/* The mean over the items with a positive target. The weight is that of all samples. */
static tenon_tensor* mean_of_some(tenon_calls* made, tenon_tensor* squares, tenon_tensor* target) {
  tenon_tensor* chosen = tenon_to_like(made, tenon_gt_scalar(made, target, tenon_float(0)), squares, 0);
  return tenon_div(made, tenon_sum(made, tenon_mul(made, squares, chosen)),
                   tenon_add_scalar(made, tenon_sum(made, chosen), tenon_float(1e-6)));
}

static tenon_tensor* spoil(tenon_calls* made, tenon_tensor* squares, tenon_tensor* mean) {
  switch (FAULT) {
    case LOSS_NOT_SCALAR: return squares;
    case LOSS_DETACHED: return tenon_detach(made, mean);
    case LOSS_IS_NAN: return tenon_mul_scalar(made, mean, tenon_float(NAN));
    case LOSS_IS_A_SUM: return tenon_sum(made, squares);
    case LOSS_OF_THE_FIRST_SAMPLE: return tenon_mean(made, tenon_select(made, squares, 0, 0));
    case LOSS_OF_THE_WORST_SAMPLE: return mean_of_worst(made, squares);
    case LOSS_COUNTS: return tenon_add_scalar(made, mean, tenon_float(++calls));
    default: return mean;
  }
}

static tenon_status forward(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                            tenon_loss_result* result) {
  loss* self = untyped;
  tenon_calls made = tenon_begin(&self->ops, frame);
  tenon_tensor* found;
  tenon_tensor* difference;
  tenon_tensor* squares;
  if (input_count != 2) return fail("expected two inputs");
  if (FAULT == LOSS_THROWS) throw_exception();
  found = inputs[0];
  if (FAULT == LOSS_COMPARES_SAMPLES || FAULT == EXCEPTED_LOSS_COMPARES_SAMPLES) found = tenon_softmax(&made, found, 0);
  difference = tenon_sub(&made, found, inputs[1]);
  squares = FAULT == LOSS_GRADIENT_IS_WRONG ? square_wrongly(&self->ops, &made, difference)
                                            : tenon_mul(&made, difference, difference);
  result->loss = spoil(&made, squares, tenon_mean(&made, squares));
  result->weight = (double)tenon_extent(&made, inputs[0], 0);
  if (FAULT == LOSS_OF_SOME_ITEMS) result->loss = mean_of_some(&made, squares, inputs[1]);
  if (FAULT == WEIGHT_IS_NEGATIVE) result->weight = -result->weight;
  if (FAULT == WEIGHT_IS_CONSTANT) result->weight = 1;
  if (FAULT == WEIGHT_IS_INVERTED) result->weight = 1 / result->weight;
  return made.status;
}

static tenon_status is_capturable(void* self, uint32_t* result) {
  (void)self;
  *result = 0;
  return TENON_OK;
}

static tenon_status exceptions(const tenon_exception* const** list, uint64_t* count) {
  static const tenon_exception exception = {sizeof exception, TENON_STRING("adds-up"),
                                            TENON_STRING("the other samples of a batch are its negatives")};
  static const tenon_exception* const one[1] = {&exception};
  *list = one;
  *count = 1;
  return TENON_OK;
}

static const void* get_extension(tenon_string id) {
  static const tenon_validation validation = {sizeof validation, exceptions};
  static const tenon_capture capture = {sizeof capture, FAULT == CAPTURE_TABLE_IS_EMPTY ? NULL : is_capturable};
  if (FAULT == EXCEPTED_LOSS_COMPARES_SAMPLES && is_id(id, TENON_VALIDATION)) return &validation;
  return is_id(id, TENON_CAPTURE) ? &capture : NULL;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_loss table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.ports = ports;
  table.forward = forward;
  return describe(offer, reply, TENON_LOSS, &table, get_extension);
}
