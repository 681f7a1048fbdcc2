#include "tests/components/portable_network.h"

#include <tenon/ops.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

int32_t portable_network_dtype = TENON_FLOAT64;

/* There is one model and one loss in the process, so `self` is not needed. */
static tenon_ops ops;

static tenon_status create(const tenon_host* host, const tenon_params* params, void** self) {
  (void)params;
  tenon_ops_open(host, &ops);
  *self = &ops;
  return TENON_OK;
}

static void destroy(void* self) { (void)self; }

static tenon_port make_port(uint32_t direction, tenon_string name, tenon_string shape, uint64_t dtypes) {
  return (tenon_port){
      .size = sizeof(tenon_port), .direction = direction, .name = name, .shape = shape, .dtypes = dtypes};
}

/* ---- Model ------------------------------------------------------------------------------------------------------- */

enum { CONV, CONV_BIAS, SCALE, SHIFT, MEAN, VARIANCE, FIRST, FIRST_BIAS, NORM, NORM_BIAS, LAST, LAST_BIAS };

static const int64_t shapes[][4] = {{6, 3, 3, 3}, {6}, {6}, {6}, {6}, {6}, {16, 96}, {16}, {16}, {16}, {5, 16}, {5}};
static const uint32_t ranks[] = {4, 1, 1, 1, 1, 1, 2, 1, 1, 1, 2, 1};
static const tenon_string names[] = {
    TENON_STRING("0.weight"),       TENON_STRING("0.bias"),        TENON_STRING("1.weight"), TENON_STRING("1.bias"),
    TENON_STRING("1.running_mean"), TENON_STRING("1.running_var"), TENON_STRING("5.weight"), TENON_STRING("5.bias"),
    TENON_STRING("6.weight"),       TENON_STRING("6.bias"),        TENON_STRING("9.weight"), TENON_STRING("9.bias")};

static tenon_status model_ports(void* self, const tenon_port* const** ports, uint64_t* count) {
  static tenon_port image, logits;
  static const tenon_port* const both[] = {&image, &logits};
  (void)self;
  image = make_port(TENON_INPUT, (tenon_string)TENON_STRING("image"), (tenon_string)TENON_STRING("N,3,8,8"),
                    TENON_ANY_FLOAT);
  logits =
      make_port(TENON_OUTPUT, (tenon_string)TENON_STRING("logits"), (tenon_string)TENON_STRING("N,5"), TENON_ANY_FLOAT);
  *ports = both;
  *count = COUNT(both);
  return TENON_OK;
}

static tenon_status model_build(void* self, const tenon_builder* builder) {
  (void)self;
  for (int i = 0; i < (int)COUNT(names); ++i) {
    const int is_buffer = i == MEAN || i == VARIANCE;
    const tenon_declaration declaration = {.size = sizeof declaration,
                                           .name = names[i],
                                           .shape = shapes[i],
                                           .ndim = ranks[i],
                                           .dtype = portable_network_dtype,
                                           .flags = is_buffer ? 0 : TENON_TRAINABLE,
                                           .init = TENON_INIT_UNIFORM,
                                           .a = is_buffer ? 0.5 : -0.4,
                                           .b = is_buffer ? 1.5 : 0.4};
    const tenon_status status = builder->declare(builder, &declaration, NULL);
    if (status != TENON_OK) return status;
  }
  return TENON_OK;
}

static tenon_status model_forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs,
                                  uint64_t input_count, tenon_tensor** outputs, uint64_t output_count) {
  static const int64_t width[] = {16};
  tenon_tensor* const* w = frame->tensors;
  tenon_calls calls = tenon_begin(self, frame);
  (void)input_count;
  (void)output_count;
  tenon_tensor* x = tenon_conv2d(&calls, inputs[0], w[CONV], w[CONV_BIAS], 1, 1, 1, 1);
  x = tenon_relu(&calls, tenon_batch_norm(&calls, x, w[SCALE], w[SHIFT], w[MEAN], w[VARIANCE], 0.1, 1e-5));
  x = tenon_flatten(&calls, tenon_max_pool2d(&calls, x, 2, 2, 0), 1, -1);
  x = tenon_linear(&calls, x, w[FIRST], w[FIRST_BIAS]);
  x = tenon_gelu(&calls, tenon_layer_norm(&calls, x, width, 1, w[NORM], w[NORM_BIAS], 1e-5));
  outputs[0] = tenon_linear(&calls, tenon_dropout(&calls, x, 0.3), w[LAST], w[LAST_BIAS]);
  return calls.status;
}

const tenon_model portable_network_model = {.size = sizeof(tenon_model),
                                            .create = create,
                                            .destroy = destroy,
                                            .ports = model_ports,
                                            .build = model_build,
                                            .forward = model_forward};

/* ---- Loss -------------------------------------------------------------------------------------------------------- */

static const tenon_string part_names[] = {TENON_STRING("entropy"), TENON_STRING("penalty")};

static tenon_status loss_ports(void* self, const tenon_port* const** ports, uint64_t* count) {
  static tenon_port logits, label;
  static const tenon_port* const both[] = {&logits, &label};
  (void)self;
  logits =
      make_port(TENON_INPUT, (tenon_string)TENON_STRING("logits"), (tenon_string)TENON_STRING("N,C"), TENON_ANY_FLOAT);
  label = make_port(TENON_INPUT, (tenon_string)TENON_STRING("label"), (tenon_string)TENON_STRING("N"),
                    TENON_DTYPE_BIT(TENON_INT64));
  *ports = both;
  *count = COUNT(both);
  return TENON_OK;
}

static tenon_status loss_forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs,
                                 uint64_t input_count, tenon_loss_result* result) {
  tenon_calls calls = tenon_begin(self, frame);
  (void)input_count;
  tenon_tensor* entropy = tenon_cross_entropy_loss(&calls, inputs[0], inputs[1], NULL, TENON_REDUCTION_MEAN, -100, 0.1);
  tenon_tensor* penalty = tenon_mean(&calls, tenon_mul(&calls, inputs[0], inputs[0]));
  result->loss = tenon_add(&calls, entropy, tenon_mul_scalar(&calls, penalty, tenon_float(0.1)));
  result->weight = (double)tenon_extent(&calls, inputs[0], 0);
  if (result->part_count == COUNT(part_names)) {
    result->parts[0] = entropy;
    result->parts[1] = penalty;
  }
  return calls.status;
}

static tenon_status loss_parts(void* self, const tenon_string** given, uint64_t* count) {
  (void)self;
  *given = part_names;
  *count = COUNT(part_names);
  return TENON_OK;
}

const tenon_loss portable_network_loss = {.size = sizeof(tenon_loss),
                                          .create = create,
                                          .destroy = destroy,
                                          .ports = loss_ports,
                                          .forward = loss_forward,
                                          .parts = loss_parts};
