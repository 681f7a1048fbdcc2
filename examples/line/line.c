/* Five components in C11: a dataset of noisy points on a line, a model that fits a line, a loss, a metric and a
 * callback. */
#include <tenon/describe.h>
#include <tenon/ops.h>
#include <tenon/tenon.h>

/* Model, loss and metric call operators. Their instances begin with this member. */
static tenon_status create_with_ops(const tenon_host* host, const tenon_params* params, void** self) {
  tenon_ops ops;
  (void)params;
  tenon_ops_open(host, &ops);
  return tenon_new_instance(host, &ops, sizeof ops, self);
}

/* ---- Dataset ----------------------------------------------------------------------------------------------------- */

typedef struct points {
  int64_t samples, seed;
  double slope, noise;
} points;

static tenon_status points_create(const tenon_host* host, const tenon_params* params, void** self) {
  points read;
  tenon_status status = tenon_read_int(host, params, "samples", &read.samples);
  if (status == TENON_OK) status = tenon_read_int(host, params, "seed", &read.seed);
  if (status == TENON_OK) status = tenon_read_float(host, params, "slope", &read.slope);
  if (status == TENON_OK) status = tenon_read_float(host, params, "noise", &read.noise);
  return status == TENON_OK ? tenon_new_instance(host, &read, sizeof read, self) : status;
}

static tenon_status points_length(void* self, int64_t* length) {
  *length = ((const points*)self)->samples;
  return TENON_OK;
}

TENON_FIELDS(points_fields, TENON_FIELD("x", TENON_FLOAT32, "position, from 0 to 1", 1),
             TENON_FIELD("y", TENON_FLOAT32, "height: slope * x and noise", 1))

/* The points are the same in every epoch, so they depend on the index alone. sample->seed would give new noise. */
static tenon_status points_get(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink) {
  const points* const from = self;
  const int64_t shape[1] = {1};
  tenon_random random = tenon_random_start((uint64_t)from->seed, (uint64_t)sample->index);
  void *x, *y;
  tenon_status status = sink->slot(sink, 0, shape, 1, &x);
  (void)worker;
  if (status == TENON_OK) status = sink->slot(sink, 1, shape, 1, &y);
  if (status != TENON_OK) return status;
  const double position = tenon_random_uniform(&random);
  *(float*)x = (float)position;
  *(float*)y = (float)(from->slope * position + from->noise * tenon_random_normal(&random));
  return TENON_OK;
}

static const tenon_dataset points_table = {.size = sizeof points_table,
                                           .create = points_create,
                                           .destroy = tenon_free_instance,
                                           .length = points_length,
                                           .fields = points_fields,
                                           .get = points_get};

/* ---- Model ------------------------------------------------------------------------------------------------------- */

enum { WEIGHT, BIAS }; /* indices into the frame's tensors, in the order of build() */

TENON_PORTS(line_ports, TENON_INPUT_PORT("x", "N,1", TENON_ANY_FLOAT, "position"),
            TENON_OUTPUT_PORT("prediction", "N,1", TENON_ANY_FLOAT, "height"))

static tenon_status line_build(void* self, const tenon_builder* builder) {
  const int64_t shape[2] = {1, 1};
  uint64_t index;
  const tenon_status status = tenon_declare_parameter(builder, "weight", shape, 2, TENON_INIT_NORMAL, 0, 0.1, &index);
  (void)self;
  if (status != TENON_OK) return status;
  return tenon_declare_parameter(builder, "bias", shape, 1, TENON_INIT_CONSTANT, 0, 0, &index);
}

static tenon_status line_forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs,
                                 uint64_t input_count, tenon_tensor** outputs, uint64_t output_count) {
  tenon_calls calls = tenon_begin(self, frame);
  (void)input_count, (void)output_count;
  outputs[0] = tenon_linear(&calls, inputs[0], frame->tensors[WEIGHT], frame->tensors[BIAS]);
  return calls.status;
}

static const tenon_model line_table = {.size = sizeof line_table,
                                       .create = create_with_ops,
                                       .destroy = tenon_free_instance,
                                       .ports = line_ports,
                                       .build = line_build,
                                       .forward = line_forward};

/* ---- Loss -------------------------------------------------------------------------------------------------------- */

TENON_PORTS(pair_ports, TENON_INPUT_PORT("prediction", "N,1", TENON_ANY_FLOAT, ""),
            TENON_INPUT_PORT("target", "N,1", TENON_ANY_FLOAT, ""))

static tenon_status squares_forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs,
                                    uint64_t input_count, tenon_loss_result* result) {
  tenon_calls calls = tenon_begin(self, frame);
  (void)input_count;
  result->loss = tenon_mse_loss(&calls, inputs[0], inputs[1], TENON_REDUCTION_MEAN);
  result->weight = (double)tenon_extent(&calls, inputs[0], 0);
  return calls.status;
}

static const tenon_loss squares_table = {.size = sizeof squares_table,
                                         .create = create_with_ops,
                                         .destroy = tenon_free_instance,
                                         .ports = pair_ports,
                                         .forward = squares_forward};

/* ---- Metric ------------------------------------------------------------------------------------------------------ */

TENON_STATES(error_states, TENON_SCALAR_STATE("sum", TENON_FLOAT64, TENON_REDUCE_SUM, 0),
             TENON_SCALAR_STATE("samples", TENON_FLOAT64, TENON_REDUCE_SUM, 0))
TENON_METRIC_VALUES(error_values, TENON_METRIC_VALUE("absolute_error", -1, "mean of |prediction - target|"))

static tenon_status error_update(void* self, const tenon_frame* frame, tenon_tensor* const* inputs,
                                 uint64_t input_count) {
  tenon_calls calls = tenon_begin(self, frame);
  tenon_tensor* const errors = tenon_abs(&calls, tenon_sub(&calls, inputs[0], inputs[1]));
  (void)input_count;
  tenon_add_in_place(&calls, frame->tensors[0], tenon_sum(&calls, errors));
  tenon_add_scalar_in_place(&calls, frame->tensors[1], tenon_int(tenon_extent(&calls, inputs[0], 0)));
  return calls.status;
}

static tenon_status error_compute(void* self, const tenon_frame* frame, double* values, uint64_t value_count) {
  const tenon_host* const host = ((const tenon_ops*)self)->host;
  double sum, samples;
  tenon_status status = tenon_read_state(host, frame, 0, &sum);
  (void)value_count;
  if (status == TENON_OK) status = tenon_read_state(host, frame, 1, &samples);
  if (status == TENON_OK) values[0] = sum / samples;
  return status;
}

static const tenon_metric error_table = {.size = sizeof error_table,
                                         .create = create_with_ops,
                                         .destroy = tenon_free_instance,
                                         .ports = pair_ports,
                                         .states = error_states,
                                         .values = error_values,
                                         .update = error_update,
                                         .compute = error_compute};

/* ---- Callback ---------------------------------------------------------------------------------------------------- */

static tenon_status stop_create(const tenon_host* host, const tenon_params* params, void** self) {
  double threshold;
  const tenon_status status = tenon_read_float(host, params, "threshold", &threshold);
  return status == TENON_OK ? tenon_new_instance(host, &threshold, sizeof threshold, self) : status;
}

static tenon_status stop_subscribe(void* self, uint64_t* events, int32_t* priority) {
  (void)self, (void)priority;
  *events = TENON_EVENT_BIT(TENON_STEP_END);
  return TENON_OK;
}

static tenon_status stop_on_event(void* self, uint32_t event, const tenon_run* run, tenon_requests* requests) {
  double loss;
  int64_t step;
  const tenon_status status = run->step_loss(run, 0, &loss, &step);
  (void)event;
  if (status != TENON_OK || !(loss < *(const double*)self)) return status;
  requests->flags = TENON_REQUEST_STOP;
  requests->reason = tenon_make_string("the loss is below the threshold", 31);
  return TENON_OK;
}

static const tenon_callback stop_table = {.size = sizeof stop_table,
                                          .create = stop_create,
                                          .destroy = tenon_free_instance,
                                          .subscribe = stop_subscribe,
                                          .on_event = stop_on_event};

TENON_C_PLUGIN("line", "1.0.0", "MIT", "Fits a line to points, in C.",
               TENON_COMPONENT_WITH(TENON_DATASET, "points", "noisy points on a line", points_table,
                                    TENON_INT_PARAM("samples", "256", "[1, inf)", "number of points"),
                                    TENON_INT_PARAM("seed", "0", "[0, inf)", "another seed gives other points"),
                                    TENON_FLOAT_PARAM("slope", "2.0", "", "slope of the line"),
                                    TENON_FLOAT_PARAM("noise", "0.1", "[0, inf)", "standard deviation of the noise")),
               TENON_COMPONENT(TENON_MODEL, "line", "weight * x + bias", line_table),
               TENON_COMPONENT(TENON_LOSS, "squares", "mean squared error", squares_table),
               TENON_COMPONENT(TENON_METRIC, "absolute_error", "mean absolute error", error_table),
               TENON_COMPONENT_WITH(TENON_CALLBACK, "stop_below", "ends the run at a small loss", stop_table,
                                    TENON_FLOAT_PARAM("threshold", "0.0", "[0, inf)", "loss of a step")))
