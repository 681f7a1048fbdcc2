/* The golden losses: golden_mixed has a tensor as its weight, and named parts. golden_small has a number as its weight,
 * and no parts. */
#include <stdlib.h>
#include <string.h>
#include <tenon/ops.h>

#include "golden.h"

enum { kMaxClasses = 16 };

/* ---- golden_mixed ------------------------------------------------------------------------------------------------ */

typedef struct golden_mixed {
  const tenon_host* host;
  tenon_ops ops;
  double balance;
  double delta;
  int64_t class_count;
  double class_weights[kMaxClasses];
  tenon_tensor* weights; /* weights of the classes, created once and retained */
} golden_mixed;

static tenon_status create_mixed(const tenon_host* host, const tenon_params* params, void** made) {
  tenon_value balance, delta, weights;
  const expected all[] = {WANTED("balance", &balance), WANTED("delta", &delta), WANTED("class_weights", &weights)};
  const tenon_status status = read_params(host, params, all, COUNT(all));
  if (status != TENON_OK) return status;
  if (weights.n == 0 || weights.n > kMaxClasses) {
    return host->fail(TENON_INVALID_ARGUMENT, TEXT("class_weights: expected 1 to 16 numbers"));
  }
  golden_mixed* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  tenon_ops_open(host, &self->ops);
  self->balance = balance.as.f;
  self->delta = delta.as.f;
  self->class_count = (int64_t)weights.n;
  memcpy(self->class_weights, weights.as.p, weights.n * sizeof self->class_weights[0]);
  *made = self;
  return TENON_OK;
}

static void destroy_mixed(void* untyped) {
  golden_mixed* self = untyped;
  self->host->release(self->weights);
  free(self);
}

static const tenon_port kMixedPortList[] = {
    PORT("value", TENON_INPUT, "N", FLOAT64),
    PORT("target", TENON_INPUT, "N", FLOAT64),
    PORT("logits", TENON_INPUT, "N,C", FLOAT64),
    PORT("label", TENON_INPUT, "N", INT64),
    PORT("certain", TENON_INPUT, "N", TENON_ANY_INTEGER),
};
static const tenon_port* const kMixedPorts[] = {&kMixedPortList[0], &kMixedPortList[1], &kMixedPortList[2],
                                                &kMixedPortList[3], &kMixedPortList[4]};

static tenon_status mixed_ports(void* self, const tenon_port* const** ports, uint64_t* count) {
  (void)self;
  *ports = kMixedPorts;
  *count = COUNT(kMixedPorts);
  return TENON_OK;
}

static const tenon_string kParts[] = {TENON_STRING("value"), TENON_STRING("class")};

static tenon_status mixed_parts(void* self, const tenon_string** names, uint64_t* count) {
  (void)self;
  *names = kParts;
  *count = COUNT(kParts);
  return TENON_OK;
}

static tenon_status keep_class_weights(golden_mixed* self, const tenon_frame* frame) {
  if (self->weights) return TENON_OK;
  const tenon_status status =
      self->host->make_tensor(frame, TENON_FLOAT64, &self->class_count, 1, self->class_weights, &self->weights);
  if (status == TENON_OK) self->host->retain(self->weights);
  return status;
}

/* Computes the squared hinge loss over classes (Crammer and Singer, 2001), times the weight of the sample's class. The
 * loss is 0 where the label is -1. logits: [N, C]; label: [N]. Returns [N]. */
static tenon_tensor* measure_classes(golden_mixed* self, tenon_calls* calls, tenon_tensor* logits,
                                     tenon_tensor* label) {
  const int64_t last[1] = {1};
  tenon_tensor* known = tenon_to_dtype(calls, tenon_ge_scalar(calls, label, tenon_int(0)), TENON_FLOAT64);
  tenon_tensor* class = tenon_clamp_min(calls, label, tenon_int(0));
  tenon_tensor* own_logit = tenon_gather(calls, logits, 1, tenon_unsqueeze(calls, class, 1));
  tenon_tensor* margin = tenon_add_scalar(calls, tenon_sub(calls, logits, own_logit), tenon_float(1));
  margin = tenon_clamp_min(calls, margin, tenon_float(0));
  tenon_tensor* hinge = tenon_sum_dims(calls, tenon_mul(calls, margin, margin), last, 1, 0);
  hinge = tenon_sub_scalar(calls, hinge, tenon_float(1)); /* the term of the sample's class */
  tenon_tensor* weight = tenon_index_select(calls, self->weights, 0, class);
  return tenon_mul(calls, tenon_mul(calls, hinge, weight), known);
}

static tenon_status forward_mixed(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs,
                                  uint64_t input_count, tenon_loss_result* result) {
  golden_mixed* self = untyped;
  if (input_count != COUNT(kMixedPorts) || result->part_count != COUNT(kParts)) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("expected five inputs and two parts"));
  }
  tenon_calls calls = tenon_begin(&self->ops, frame);
  calls.status = keep_class_weights(self, frame);
  tenon_tensor* certain = tenon_to_dtype(&calls, inputs[4], TENON_FLOAT64);
  tenon_tensor* count = tenon_sum(&calls, certain);
  tenon_tensor* divisor = tenon_clamp_min(&calls, count, tenon_float(1));
  tenon_tensor* value = tenon_huber_loss(&calls, inputs[0], inputs[1], TENON_REDUCTION_NONE, self->delta);
  tenon_tensor* classes = measure_classes(self, &calls, inputs[2], inputs[3]);
  value = tenon_div(&calls, tenon_sum(&calls, tenon_mul(&calls, value, certain)), divisor);
  classes = tenon_div(&calls, tenon_sum(&calls, tenon_mul(&calls, classes, certain)), divisor);
  result->loss = tenon_add(&calls, value, tenon_mul_scalar(&calls, classes, tenon_float(self->balance)));
  result->weight_tensor = count;
  result->parts[0] = value;
  result->parts[1] = classes;
  return calls.status;
}

/* ---- golden_small ------------------------------------------------------------------------------------------------ */

typedef struct golden_small {
  const tenon_host* host;
  tenon_ops ops;
} golden_small;

static tenon_status create_small(const tenon_host* host, const tenon_params* params, void** made) {
  (void)params;
  golden_small* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  tenon_ops_open(host, &self->ops);
  *made = self;
  return TENON_OK;
}

static void destroy_small(void* self) { free(self); }

static const tenon_port kSmallPort = PORT("numbers", TENON_INPUT, "N,...", TENON_ANY_FLOAT);
static const tenon_port* const kSmallPorts[] = {&kSmallPort};

static tenon_status small_ports(void* self, const tenon_port* const** ports, uint64_t* count) {
  (void)self;
  *ports = kSmallPorts;
  *count = COUNT(kSmallPorts);
  return TENON_OK;
}

static tenon_status forward_small(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs,
                                  uint64_t input_count, tenon_loss_result* result) {
  golden_small* self = untyped;
  if (input_count != 1) return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("expected one input"));
  tenon_calls calls = tenon_begin(&self->ops, frame);
  const int64_t size = tenon_extent(&calls, inputs[0], 0);
  result->loss = tenon_div_scalar(&calls, tenon_sum(&calls, tenon_mul(&calls, inputs[0], inputs[0])), tenon_int(size));
  result->weight = (double)size;
  return calls.status;
}

/* ---- Description of the plugin ----------------------------------------------------------------------------------- */

PARAM(kBalance, "balance", TENON_PARAM_FLOAT, "factor of the classes' part", .default_value = TENON_STRING("0.5"),
      .range = TENON_STRING("[0, inf)"));
PARAM(kDelta, "delta", TENON_PARAM_FLOAT, "from where on an error counts linearly", .default_value = TENON_STRING("1"),
      .range = TENON_STRING("(0, inf)"));
PARAM(kClassWeights, "class_weights", TENON_PARAM_FLOATS, "of each class", .default_value = TENON_STRING("[1, 0.5, 2]"),
      .range = TENON_STRING("[0, inf)"));
static const tenon_param* const kMixedParams[] = {&kBalance, &kDelta, &kClassWeights};

static const tenon_loss kMixedTable = {.size = sizeof kMixedTable,
                                       .create = create_mixed,
                                       .destroy = destroy_mixed,
                                       .ports = mixed_ports,
                                       .forward = forward_mixed,
                                       .parts = mixed_parts};
static const tenon_component kMixed = {.size = sizeof kMixed,
                                       .kind = TENON_LOSS,
                                       .id = TENON_STRING("golden_mixed"),
                                       .doc = TENON_STRING("Huber's loss of a number and a hinge loss of classes"),
                                       .params = kMixedParams,
                                       .param_count = COUNT(kMixedParams),
                                       .table = &kMixedTable};

static const tenon_loss kSmallTable = {.size = sizeof kSmallTable,
                                       .create = create_small,
                                       .destroy = destroy_small,
                                       .ports = small_ports,
                                       .forward = forward_small};
static const tenon_component kSmall = {.size = sizeof kSmall,
                                       .kind = TENON_LOSS,
                                       .id = TENON_STRING("golden_small"),
                                       .doc = TENON_STRING("the squares of a sample's numbers"),
                                       .table = &kSmallTable};
static const tenon_component* const kComponents[] = {&kMixed, &kSmall};

static const tenon_string kOperators[] = {
    TENON_STRING("aten::add.Scalar"), TENON_STRING("aten::add.Tensor"), TENON_STRING("aten::clamp_min"),
    TENON_STRING("aten::div.Scalar"), TENON_STRING("aten::div.Tensor"), TENON_STRING("aten::gather"),
    TENON_STRING("aten::ge.Scalar"),  TENON_STRING("aten::huber_loss"), TENON_STRING("aten::index_select"),
    TENON_STRING("aten::mul.Scalar"), TENON_STRING("aten::mul.Tensor"), TENON_STRING("aten::sub.Scalar"),
    TENON_STRING("aten::sub.Tensor"), TENON_STRING("aten::sum"),        TENON_STRING("aten::sum.dim_IntList"),
    TENON_STRING("aten::to.dtype"),   TENON_STRING("aten::unsqueeze"),
};

static const tenon_plugin kPlugin = {.size = sizeof kPlugin,
                                     .id = TENON_STRING("golden_loss"),
                                     .version = TENON_STRING("1.0.0"),
                                     .license = TENON_STRING("Apache-2.0"),
                                     .doc = TENON_STRING("The losses that every host of version 1 serves."),
                                     .components = kComponents,
                                     .component_count = COUNT(kComponents),
                                     .operators = kOperators,
                                     .operator_count = COUNT(kOperators)};

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, &kPlugin);
}
