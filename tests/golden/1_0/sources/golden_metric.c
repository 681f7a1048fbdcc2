/* The golden metric: a state for every reduction, and tensors that are exported and imported with DLPack. */
#include <stdlib.h>
#include <tenon/dlpack.h>
#include <tenon/ops.h>

#include "golden.h"

enum { kHits, kCount, kWorst, kBest, kErrors, kPairs, kStateCount };
enum { kShare, kCounted, kWorstError, kBestError, kMedianError, kGap, kValueCount };
enum { kMaxClasses = 3 };

typedef struct golden_metric {
  const tenon_host* host;
  const tenon_dlpack* dlpack;
  tenon_ops ops;
} golden_metric;

static tenon_status create(const tenon_host* host, const tenon_params* params, void** made) {
  (void)params;
  const tenon_dlpack* dlpack = host->get_extension(TEXT(TENON_DLPACK));
  if (!dlpack) return host->fail(TENON_UNSUPPORTED, TEXT("the host has no " TENON_DLPACK));
  if (host->get_extension(TEXT("golden.nobody-has-this/1"))) {
    return host->fail(TENON_FAILED, TEXT("the host has an extension that does not exist"));
  }
  golden_metric* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  self->dlpack = dlpack;
  tenon_ops_open(host, &self->ops);
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static const tenon_port kPortList[] = {
    PORT("value", TENON_INPUT, "N", FLOAT64),
    PORT("target", TENON_INPUT, "N", FLOAT64),
    PORT("logits", TENON_INPUT, "N,3", FLOAT64),
    PORT("label", TENON_INPUT, "N", INT64),
};
static const tenon_port* const kPorts[] = {&kPortList[0], &kPortList[1], &kPortList[2], &kPortList[3]};

static tenon_status ports(void* self, const tenon_port* const** ports, uint64_t* count) {
  (void)self;
  *ports = kPorts;
  *count = COUNT(kPorts);
  return TENON_OK;
}

#define STATE(its_name, its_shape, its_ndim, its_dtype, its_reduction, its_initial)                    \
  {                                                                                                    \
    .size = sizeof(tenon_state), .name = TENON_STRING(its_name), .shape = its_shape, .ndim = its_ndim, \
    .dtype = its_dtype, .reduction = its_reduction, .initial = its_initial                             \
  }

static const int64_t kPerClass[] = {kMaxClasses};
static const int64_t kRows[] = {0};
static const int64_t kPairRows[] = {0, 2};
static const tenon_state kStateList[] = {
    STATE("hits", kPerClass, 1, TENON_FLOAT64, TENON_REDUCE_SUM, 0),
    STATE("count", NULL, 0, TENON_INT64, TENON_REDUCE_SUM, 0),
    STATE("worst", NULL, 0, TENON_FLOAT64, TENON_REDUCE_MAX, -1),
    STATE("best", NULL, 0, TENON_FLOAT64, TENON_REDUCE_MIN, 1e300),
    STATE("errors", kRows, 1, TENON_FLOAT64, TENON_REDUCE_CONCATENATE, 0),
    STATE("pairs", kPairRows, 2, TENON_FLOAT64, TENON_REDUCE_CONCATENATE, 0),
};
static const tenon_state* const kStates[] = {&kStateList[0], &kStateList[1], &kStateList[2],
                                             &kStateList[3], &kStateList[4], &kStateList[5]};

static tenon_status states(void* self, const tenon_state* const** states, uint64_t* count) {
  (void)self;
  *states = kStates;
  *count = COUNT(kStates);
  return TENON_OK;
}

#define VALUE(its_name, its_direction, its_doc)                                                     \
  {                                                                                                 \
    .size = sizeof(tenon_metric_value), .name = TENON_STRING(its_name), .direction = its_direction, \
    .doc = TENON_STRING(its_doc)                                                                    \
  }

static const tenon_metric_value kValueList[] = {
    VALUE("share", 1, "of labels that have the largest logit"),
    VALUE("counted", 0, "samples with a label"),
    VALUE("worst_error", -1, "the largest absolute difference"),
    VALUE("best_error", -1, "the smallest absolute difference"),
    VALUE("median_error", -1, "the middle one of the absolute differences"),
    VALUE("gap", -1, "mean difference of value and target, weighed by the sample's place"),
};
static const tenon_metric_value* const kValues[] = {&kValueList[0], &kValueList[1], &kValueList[2],
                                                    &kValueList[3], &kValueList[4], &kValueList[5]};

static tenon_status values(void* self, const tenon_metric_value* const** values, uint64_t* count) {
  (void)self;
  *values = kValues;
  *count = COUNT(kValues);
  return TENON_OK;
}

/* ---- Update for each batch --------------------------------------------------------------------------------------- */

/* Exports a tensor with DLPack, imports it again, and returns the imported tensor. */
static tenon_tensor* pass_through(golden_metric* self, tenon_calls* calls, tenon_tensor* tensor) {
  void* managed = NULL;
  tenon_tensor* taken = NULL;
  tenon_tensor* detached = tenon_detach(calls, tensor);
  if (calls->status == TENON_OK) calls->status = self->dlpack->give(detached, &managed);
  if (calls->status == TENON_OK) calls->status = self->dlpack->take(calls->frame, managed, &taken);
  return taken;
}

static tenon_status append(golden_metric* self, tenon_calls* calls, uint64_t state, tenon_tensor* rows) {
  if (calls->status == TENON_OK) calls->status = self->host->append(calls->frame, state, rows);
  return calls->status;
}

static tenon_status update(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count) {
  golden_metric* self = untyped;
  if (input_count != COUNT(kPorts) || frame->tensor_count != kStateCount || frame->training) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("expected four inputs and six states, to evaluate"));
  }
  tenon_calls calls = tenon_begin(&self->ops, frame);
  tenon_tensor *value = pass_through(self, &calls, inputs[0]), *target = pass_through(self, &calls, inputs[1]);
  tenon_tensor* const* state = frame->tensors;
  const int64_t rows[1] = {0};

  tenon_tensor* is_hit = tenon_eq(&calls, tenon_argmax(&calls, inputs[2], 1), inputs[3]);
  tenon_tensor* is_known = tenon_ge_scalar(&calls, inputs[3], tenon_int(0));
  tenon_tensor* classes = tenon_one_hot(&calls, tenon_clamp_min(&calls, inputs[3], tenon_int(0)), kMaxClasses);
  tenon_tensor* hits = tenon_mul(&calls, tenon_to_dtype(&calls, classes, TENON_FLOAT64),
                                 tenon_unsqueeze(&calls, tenon_to_dtype(&calls, is_hit, TENON_FLOAT64), 1));
  tenon_add_in_place(&calls, state[kHits], tenon_sum_dims(&calls, hits, rows, 1, 0));
  tenon_add_in_place(&calls, state[kCount], tenon_sum(&calls, is_known));

  tenon_tensor* error = tenon_abs(&calls, tenon_sub(&calls, value, target));
  tenon_tensor* worst = tenon_maximum(&calls, state[kWorst], tenon_amax(&calls, error, rows, 1, 0));
  tenon_tensor* best = tenon_minimum(&calls, state[kBest], tenon_amin(&calls, error, rows, 1, 0));
  tenon_copy_in_place(&calls, state[kWorst], worst);
  tenon_copy_in_place(&calls, state[kBest], best);
  tenon_tensor* const pair[2] = {value, target};
  tenon_tensor* pairs = tenon_stack(&calls, pair, 2, 1);
  append(self, &calls, kErrors, error);
  append(self, &calls, kPairs, pairs);
  return calls.status;
}

/* ---- Compute ----------------------------------------------------------------------------------------------------- */

/* Reads the elements of a state, and its number of rows. A state without dimensions has one row. */
static tenon_status read_state(golden_metric* self, tenon_tensor* state, const void** elements, int64_t* rows) {
  tenon_tensor_info info = {.size = sizeof info};
  void* data = NULL;
  tenon_status status = self->host->tensor_info(state, &info);
  if (status == TENON_OK) status = self->host->tensor_data(state, &data);
  *elements = data;
  *rows = status == TENON_OK && info.ndim > 0 ? info.shape[0] : 1;
  return status;
}

static int compare_numbers(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static tenon_status find_median(golden_metric* self, const double* errors, int64_t count, double* median) {
  double* sorted = malloc((size_t)(count + 1) * sizeof *sorted);
  if (!sorted) return self->host->fail(TENON_FAILED, TEXT("out of memory"));
  for (int64_t i = 0; i < count; ++i) sorted[i] = errors[i];
  qsort(sorted, (size_t)count, sizeof *sorted, compare_numbers);
  *median = count > 0 ? sorted[count / 2] : 0;
  free(sorted);
  return TENON_OK;
}

static tenon_status compute(void* untyped, const tenon_frame* frame, double* values, uint64_t value_count) {
  golden_metric* self = untyped;
  const void* state[kStateCount];
  int64_t rows[kStateCount];
  if (value_count != kValueCount || frame->tensor_count != kStateCount) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("expected six figures and six states"));
  }
  for (int i = 0; i < kStateCount; ++i) {
    const tenon_status status = read_state(self, frame->tensors[i], &state[i], &rows[i]);
    if (status != TENON_OK) return status;
  }
  const double *hits = state[kHits], *pairs = state[kPairs];
  const int64_t count = *(const int64_t*)state[kCount];
  values[kShare] = (hits[0] + hits[1] + hits[2]) / (double)(count > 0 ? count : 1);
  values[kCounted] = (double)count;
  values[kWorstError] = *(const double*)state[kWorst];
  values[kBestError] = *(const double*)state[kBest];
  double gap = 0;
  for (int64_t i = 0; i < rows[kPairs]; ++i) gap += (pairs[2 * i] - pairs[2 * i + 1]) * (double)(i % 5 + 1);
  values[kGap] = rows[kPairs] > 0 ? gap / (double)rows[kPairs] : 0;
  return find_median(self, state[kErrors], rows[kErrors], &values[kMedianError]);
}

/* ---- Description of the plugin ----------------------------------------------------------------------------------- */

static const tenon_metric kTable = {.size = sizeof kTable,
                                    .create = create,
                                    .destroy = destroy,
                                    .ports = ports,
                                    .states = states,
                                    .values = values,
                                    .update = update,
                                    .compute = compute};

static const tenon_component kComponent = {
    .size = sizeof kComponent,
    .kind = TENON_METRIC,
    .id = TENON_STRING("golden_metric"),
    .doc = TENON_STRING("how far numbers and classes are from what they should be"),
    .table = &kTable};
static const tenon_component* const kComponents[] = {&kComponent};

static const tenon_string kOperators[] = {
    TENON_STRING("aten::abs"),        TENON_STRING("aten::add_.Tensor"), TENON_STRING("aten::amax"),
    TENON_STRING("aten::amin"),       TENON_STRING("aten::argmax"),      TENON_STRING("aten::clamp_min"),
    TENON_STRING("aten::copy_"),      TENON_STRING("aten::detach"),      TENON_STRING("aten::eq.Tensor"),
    TENON_STRING("aten::ge.Scalar"),  TENON_STRING("aten::maximum"),     TENON_STRING("aten::minimum"),
    TENON_STRING("aten::mul.Tensor"), TENON_STRING("aten::one_hot"),     TENON_STRING("aten::stack"),
    TENON_STRING("aten::sub.Tensor"), TENON_STRING("aten::sum"),         TENON_STRING("aten::sum.dim_IntList"),
    TENON_STRING("aten::to.dtype"),   TENON_STRING("aten::unsqueeze"),
};

static const tenon_plugin kPlugin = {.size = sizeof kPlugin,
                                     .id = TENON_STRING("golden_metric"),
                                     .version = TENON_STRING("1.0.0"),
                                     .license = TENON_STRING("Apache-2.0"),
                                     .doc = TENON_STRING("The metric that every host of version 1 serves."),
                                     .components = kComponents,
                                     .component_count = COUNT(kComponents),
                                     .operators = kOperators,
                                     .operator_count = COUNT(kOperators)};

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, &kPlugin);
}
