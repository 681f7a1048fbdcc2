/* The golden model: parameters with every initialiser, buffers, and a custom gradient. Its inputs are images, numbers,
 * and varying numbers of words and points, with masked padding. It also creates tensors from numbers.
 *
 * Every operator here rounds in the same way on all CPUs and with all C libraries. There is no exponential, logarithm
 * or sine. The host samples the normal distribution with such functions, so the model rounds these samples first. */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/gradient.h>
#include <tenon/ops.h>

#include "golden.h"

enum {
  kStemWeight,
  kStemBias,
  kNormWeight,
  kNormBias,
  kNormMean,
  kNormVariance,
  kEmbedding,
  kQuery,
  kPathWeight,
  kContextWeight,
  kRandomNormal,
  kRandomKaiming,
  kRandomXavier,
  kMixerWeight,
  kMixerBias,
  kBend,
  kScaleWeight,
  kValueWeight,
  kValueBias,
  kClassWeight,
  kClassBias,
  kSteps,
  kTensorCount
};

enum { kOpRound, kOpVarMean, kOpCount };
enum { kImage, kContext, kWords, kPath, kInputCount };

typedef struct golden_model {
  const tenon_host* host;
  const tenon_gradient* gradient;
  tenon_ops ops;
  const tenon_op* more[kOpCount]; /* operators that tenon/ops.h does not have */
  int64_t width;
  int64_t classes;
  double gain;
  double drop;
  int64_t attends;
  char logits_shape[32];
  tenon_port logits;
  const tenon_port* ports[6];
  uint64_t index[kTensorCount]; /* positions in the frame's tensors */
} golden_model;

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

static const tenon_port kInputs[kInputCount] = {
    PORT("image", TENON_INPUT, "N,2,H,W", FLOAT64), PORT("context", TENON_INPUT, "N,3", FLOAT64),
    PORT("words", TENON_INPUT, "N,L", INT64), PORT("path", TENON_INPUT, "N,M,2", FLOAT64)};
static const tenon_port kValue = PORT("value", TENON_OUTPUT, "N", FLOAT64);

static void describe_ports(golden_model* self) {
  const int length = snprintf(self->logits_shape, sizeof self->logits_shape, "N,%lld", (long long)self->classes);
  self->logits = (tenon_port)PORT("logits", TENON_OUTPUT, "", FLOAT64);
  self->logits.shape = tenon_make_string(self->logits_shape, (uint64_t)length);
  for (int i = 0; i < kInputCount; ++i) self->ports[i] = &kInputs[i];
  self->ports[kInputCount] = &kValue;
  self->ports[kInputCount + 1] = &self->logits;
}

static tenon_status create(const tenon_host* host, const tenon_params* params, void** made) {
  tenon_value width, classes, gain, drop, attend;
  const expected all[] = {WANTED("width", &width), WANTED("classes", &classes), WANTED("gain", &gain),
                          WANTED("drop", &drop), WANTED("attend", &attend)};
  const tenon_status status = read_params(host, params, all, COUNT(all));
  if (status != TENON_OK) return status;
  if (width.as.i % 2 != 0) return host->fail(TENON_INVALID_ARGUMENT, TEXT("width is odd; expected an even number"));
  const tenon_gradient* gradient = host->get_extension(TEXT(TENON_GRADIENT));
  if (!gradient) return host->fail(TENON_UNSUPPORTED, TEXT("the host has no " TENON_GRADIENT));
  golden_model* self = calloc(1, sizeof *self);
  if (!self) return host->fail(TENON_FAILED, TEXT("out of memory"));
  self->host = host;
  self->gradient = gradient;
  tenon_ops_open(host, &self->ops);
  self->width = width.as.i;
  self->classes = classes.as.i;
  self->gain = gain.as.f;
  self->drop = drop.as.f;
  self->attends = attend.as.i;
  describe_ports(self);
  *made = self;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status ports(void* untyped, const tenon_port* const** ports, uint64_t* count) {
  golden_model* self = untyped;
  *ports = self->ports;
  *count = COUNT(self->ports);
  return TENON_OK;
}

typedef struct plan {
  uint64_t place; /* kStemWeight ... */
  tenon_string name;
  int64_t shape[4];
  uint32_t ndim;
  uint32_t flags;
  uint32_t init;
  double a;
  double b;
} plan;

static tenon_status declare(golden_model* self, const tenon_builder* builder, const plan* of, int32_t dtype) {
  const tenon_declaration declaration = {.size = sizeof declaration,
                                         .name = of->name,
                                         .shape = of->shape,
                                         .ndim = of->ndim,
                                         .dtype = dtype,
                                         .flags = of->flags,
                                         .init = of->init,
                                         .a = of->a,
                                         .b = of->b};
  return builder->declare(builder, &declaration, &self->index[of->place]);
}

static tenon_status build(void* untyped, const tenon_builder* builder) {
  golden_model* self = untyped;
  const int64_t width = self->width, classes = self->classes;
  const uint32_t trainable = TENON_TRAINABLE, buffer = 0;
  const plan plans[] = {
      {kStemWeight, TEXT("stem.weight"), {width, 2, 3, 3}, 4, trainable, TENON_INIT_KAIMING_UNIFORM, 0, 0},
      {kStemBias, TEXT("stem.bias"), {width}, 1, trainable, TENON_INIT_CONSTANT, 0.125, 0},
      {kNormWeight, TEXT("norm.weight"), {width}, 1, trainable, TENON_INIT_CONSTANT, 1, 0},
      {kNormBias, TEXT("norm.bias"), {width}, 1, trainable, TENON_INIT_CONSTANT, 0, 0},
      {kNormMean, TEXT("norm.running_mean"), {width}, 1, buffer, TENON_INIT_CONSTANT, 0, 0},
      {kNormVariance, TEXT("norm.running_var"), {width}, 1, buffer, TENON_INIT_CONSTANT, 1, 0},
      {kEmbedding, TEXT("embedding.weight"), {16, width}, 2, trainable, TENON_INIT_UNIFORM, -0.5, 0.5},
      {kQuery, TEXT("query.weight"), {width, 3}, 2, trainable, TENON_INIT_UNIFORM, 0, 1},
      {kPathWeight, TEXT("path.weight"), {width, 2}, 2, trainable, TENON_INIT_XAVIER_UNIFORM, self->gain, 0},
      {kContextWeight, TEXT("context.weight"), {width, 3}, 2, trainable, TENON_INIT_XAVIER_UNIFORM, 0, 0},
      {kRandomNormal, TEXT("random.normal"), {width}, 1, buffer, TENON_INIT_NORMAL, 0.25, 0.5},
      {kRandomKaiming, TEXT("random.kaiming"), {width, 3}, 2, buffer, TENON_INIT_KAIMING_NORMAL, 1, 0},
      {kRandomXavier, TEXT("random.xavier"), {width, width}, 2, buffer, TENON_INIT_XAVIER_NORMAL, 0.5, 0},
      {kMixerWeight, TEXT("mixer.0.weight"), {width, 4 * width}, 2, trainable, TENON_INIT_KAIMING_UNIFORM, 1, 0},
      {kMixerBias, TEXT("mixer.0.bias"), {width}, 1, trainable, TENON_INIT_CONSTANT, 0, 0},
      {kBend, TEXT("mixer.1.bend"), {width}, 1, trainable, TENON_INIT_CONSTANT, 1.5, 0},
      {kScaleWeight, TEXT("mixer.2.weight"), {width}, 1, trainable, TENON_INIT_CONSTANT, 1, 0},
      {kValueWeight, TEXT("value.weight"), {1, width}, 2, trainable, TENON_INIT_UNIFORM, -0.25, 0.25},
      {kValueBias, TEXT("value.bias"), {1}, 1, trainable, TENON_INIT_CONSTANT, 0, 0},
      {kClassWeight, TEXT("class.weight"), {classes, width}, 2, trainable, TENON_INIT_XAVIER_UNIFORM, 1, 0},
      {kClassBias, TEXT("class.bias"), {classes}, 1, trainable, TENON_INIT_CONSTANT, 0, 0},
  };
  tenon_status status = TENON_OK;
  for (uint64_t i = 0; status == TENON_OK && i < COUNT(plans); ++i) {
    status = declare(self, builder, &plans[i], TENON_FLOAT64);
  }
  const plan steps = {kSteps, TEXT("steps"), {0}, 0, buffer, TENON_INIT_CONSTANT, 0, 0};
  if (status == TENON_OK) status = declare(self, builder, &steps, TENON_INT64);
  return status;
}

/* ---- Custom gradient --------------------------------------------------------------------------------------------- */

/* Computes bend * x / (1 + |x|). x: [..., W], bend: [W]. `untyped` is the model. */
static tenon_status bend_forward(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs,
                                 uint64_t input_count, tenon_tensor** outputs, uint64_t output_count,
                                 tenon_tensor** saved, uint64_t saved_count) {
  golden_model* self = untyped;
  if (input_count != 2 || output_count != 1 || saved_count != 3) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("bend: expected two inputs, one output, three saved"));
  }
  tenon_calls calls = tenon_begin(&self->ops, frame);
  tenon_tensor* divisor = tenon_add_scalar(&calls, tenon_abs(&calls, inputs[0]), tenon_float(1));
  tenon_tensor* bent = tenon_div(&calls, inputs[0], divisor);
  outputs[0] = tenon_mul(&calls, bent, inputs[1]);
  saved[0] = divisor;
  saved[1] = bent;
  saved[2] = inputs[1];
  return calls.status;
}

static tenon_status bend_backward(void* untyped, const tenon_frame* frame, tenon_tensor* const* saved,
                                  uint64_t saved_count, tenon_tensor* const* output_gradients, uint64_t output_count,
                                  tenon_tensor** input_gradients, uint64_t input_count) {
  golden_model* self = untyped;
  if (saved_count != 3 || output_count != 1 || input_count != 2) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("bend: expected three saved, one output, two inputs"));
  }
  if (!output_gradients[0]) return TENON_OK;
  tenon_tensor *divisor = saved[0], *bent = saved[1], *bend = saved[2];
  tenon_calls calls = tenon_begin(&self->ops, frame);
  tenon_tensor* gradient = tenon_mul(&calls, output_gradients[0], bend);
  input_gradients[0] = tenon_div(&calls, gradient, tenon_mul(&calls, divisor, divisor));
  const int64_t flat[2] = {-1, self->width}, rows[1] = {0};
  tenon_tensor* products = tenon_mul(&calls, output_gradients[0], bent);
  input_gradients[1] = tenon_sum_dims(&calls, tenon_reshape(&calls, products, flat, 2), rows, 1, 0);
  return calls.status;
}

static const tenon_function kBendFunction = {
    .size = sizeof kBendFunction, .forward = bend_forward, .backward = bend_backward};

static tenon_tensor* bend(golden_model* self, tenon_calls* calls, tenon_tensor* input) {
  tenon_tensor* const inputs[2] = {input, calls->frame->tensors[self->index[kBend]]};
  tenon_tensor* output = NULL;
  if (calls->status != TENON_OK) return NULL;
  calls->status = self->gradient->apply(calls->frame, &kBendFunction, self, inputs, 2, &output, 1, 3);
  return output;
}

/* ---- Forward ----------------------------------------------------------------------------------------------------- */

static tenon_tensor* get(golden_model* self, tenon_calls* calls, uint64_t place) {
  return calls->frame->tensors[self->index[place]];
}

/* Rounds a buffer in place to multiples of 1/1024, and returns it. Rounding it again changes nothing. */
static tenon_tensor* get_rounded(golden_model* self, tenon_calls* calls, uint64_t place) {
  tenon_tensor* buffer = get(self, calls, place);
  const tenon_value scaled = tenon_tensor_value(tenon_mul_scalar(calls, buffer, tenon_int(1024)));
  tenon_tensor* rounded = tenon_call_op(calls, &self->more[kOpRound], "aten::round", "", &scaled, 1);
  return tenon_copy_in_place(calls, buffer, tenon_div_scalar(calls, rounded, tenon_int(1024)));
}

/* image: [N, 2, H, W]. Returns [N, W]. */
static tenon_tensor* see(golden_model* self, tenon_calls* calls, tenon_tensor* image) {
  const int64_t area[2] = {2, 3};
  tenon_tensor* x = tenon_conv2d(calls, image, get(self, calls, kStemWeight), get(self, calls, kStemBias), 1, 1, 1, 1);
  x = tenon_batch_norm(calls, x, get(self, calls, kNormWeight), get(self, calls, kNormBias),
                       get(self, calls, kNormMean), get(self, calls, kNormVariance), 0.25, 1e-5);
  x = tenon_leaky_relu(calls, x, 0.125);
  x = tenon_max_pool2d(calls, x, 2, 2, 0);
  return tenon_mean_dims(calls, x, area, 2, 0);
}

/* words: [N, L], negative after the last word; query: [N, W]. Returns [N, W]: the sum of the words, weighted by
 * attention with a ReLU in place of the exponential, or the mean of the words. */
static tenon_tensor* read_words(golden_model* self, tenon_calls* calls, tenon_tensor* words, tenon_tensor* query) {
  const int64_t middle[1] = {1}, last[1] = {2};
  tenon_tensor* is_padding = tenon_lt_scalar(calls, words, tenon_int(0));
  tenon_tensor* numbers = tenon_clamp_min(calls, words, tenon_int(0));
  tenon_tensor* meaning = tenon_embedding(calls, get(self, calls, kEmbedding), numbers);
  tenon_tensor* scores = tenon_ones_like(calls, tenon_to_dtype(calls, words, TENON_FLOAT64));
  if (self->attends) {
    tenon_tensor* products = tenon_mul(calls, meaning, tenon_unsqueeze(calls, query, 1));
    scores = tenon_relu(calls, tenon_sum_dims(calls, products, last, 1, 0));
  }
  scores = tenon_masked_fill(calls, scores, is_padding, tenon_float(0));
  tenon_tensor* total = tenon_sum_dims(calls, scores, middle, 1, 1);
  scores = tenon_div(calls, scores, tenon_add_scalar(calls, total, tenon_float(0.5)));
  tenon_tensor* read = tenon_matmul(calls, tenon_unsqueeze(calls, scores, 1), meaning);
  return tenon_squeeze(calls, read, 1);
}

/* path: [N, M, 2], zeros after the last point. These zeros stay zero here. Returns [N, W]. */
static tenon_tensor* follow(golden_model* self, tenon_calls* calls, tenon_tensor* path) {
  const int64_t middle[1] = {1};
  tenon_tensor* x = bend(self, calls, tenon_linear(calls, path, get(self, calls, kPathWeight), NULL));
  return tenon_sum_dims(calls, x, middle, 1, 0);
}

/* Computes (x - mean) / sqrt(variance + 0.01) over the last dimension, times a weight. Calls an operator with two
 * results and named arguments. */
static tenon_tensor* normalise(golden_model* self, tenon_calls* calls, tenon_tensor* x) {
  const int64_t last[1] = {-1};
  const tenon_value args[2] = {tenon_tensor_value(x), tenon_ints(last, 1)};
  const tenon_named_value kwargs[2] = {{TEXT("correction"), tenon_int(0)}, {TEXT("keepdim"), tenon_bool(1)}};
  tenon_value results[2] = {tenon_none(), tenon_none()};
  if (calls->status == TENON_OK && !self->more[kOpVarMean]) {
    calls->status = self->host->op(TEXT("aten::var_mean"), TEXT("correction"), &self->more[kOpVarMean]);
  }
  if (calls->status == TENON_OK) {
    calls->status = self->host->call(calls->frame, self->more[kOpVarMean], args, 2, kwargs, 2, results, 2);
  }
  if (calls->status != TENON_OK) return NULL;
  tenon_tensor* variance = tenon_add_scalar(calls, (tenon_tensor*)results[0].as.p, tenon_float(0.01));
  tenon_tensor* centred = tenon_sub(calls, x, (tenon_tensor*)results[1].as.p);
  x = tenon_div(calls, centred, tenon_sqrt(calls, variance));
  return tenon_mul(calls, x, get(self, calls, kScaleWeight));
}

/* Zeroes random elements in training (dropout). The random numbers come from the frame's seed. x: [N, W]. */
static tenon_tensor* drop(golden_model* self, tenon_calls* calls, tenon_tensor* x) {
  enum { kMaxCount = 4096 };
  double kept[kMaxCount];
  const int64_t shape[2] = {tenon_extent(calls, x, 0), self->width};
  const int64_t count = shape[0] * shape[1];
  uint64_t random = calls->frame->seed;
  tenon_tensor* mask = NULL;
  if (calls->status != TENON_OK || !calls->frame->training) return x;
  if (count > kMaxCount) {
    calls->status = self->host->fail(TENON_UNSUPPORTED, TEXT("the batch is too large; expected 4096 numbers or fewer"));
    return NULL;
  }
  for (int64_t i = 0; i < count; ++i) kept[i] = next_fraction(&random) + 0.5 < self->drop ? 0 : 1 / (1 - self->drop);
  calls->status = self->host->make_tensor(calls->frame, TENON_FLOAT64, shape, 2, kept, &mask);
  return tenon_mul(calls, x, mask);
}

static tenon_status forward(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                            tenon_tensor** outputs, uint64_t output_count) {
  golden_model* self = untyped;
  if (input_count != kInputCount || output_count != 2 || frame->tensor_count != kTensorCount) {
    return self->host->fail(TENON_INVALID_ARGUMENT, TEXT("expected four inputs, two outputs, all tensors"));
  }
  tenon_calls calls = tenon_begin(&self->ops, frame);
  tenon_tensor* context = tenon_linear(&calls, inputs[kContext], get(self, &calls, kContextWeight), NULL);
  tenon_tensor* query = tenon_linear(&calls, inputs[kContext], get(self, &calls, kQuery), NULL);
  tenon_tensor* fixed = tenon_linear(&calls, inputs[kContext], get_rounded(self, &calls, kRandomKaiming),
                                     get_rounded(self, &calls, kRandomNormal));
  tenon_tensor* const parts[4] = {see(self, &calls, inputs[kImage]), read_words(self, &calls, inputs[kWords], query),
                                  follow(self, &calls, inputs[kPath]), tenon_add(&calls, context, fixed)};
  tenon_tensor* x = tenon_cat(&calls, parts, 4, 1);
  x = tenon_linear(&calls, x, get(self, &calls, kMixerWeight), get(self, &calls, kMixerBias));
  x = bend(self, &calls, x);
  x = drop(self, &calls, normalise(self, &calls, x));
  tenon_tensor* turned = tenon_detach(&calls, get_rounded(self, &calls, kRandomXavier));
  x = tenon_add(&calls, x, tenon_matmul(&calls, x, turned));
  tenon_tensor* value = tenon_linear(&calls, x, get(self, &calls, kValueWeight), get(self, &calls, kValueBias));
  outputs[0] = tenon_squeeze(&calls, value, 1);
  outputs[1] = tenon_linear(&calls, x, get(self, &calls, kClassWeight), get(self, &calls, kClassBias));
  if (frame->training) tenon_add_scalar_in_place(&calls, get(self, &calls, kSteps), tenon_int(1));
  return calls.status;
}

/* ---- Description of the plugin ----------------------------------------------------------------------------------- */

PARAM(kWidth, "width", TENON_PARAM_INT, "numbers for each part; an even one", .default_value = TENON_STRING("6"),
      .range = TENON_STRING("[2, 64]"));
PARAM(kClasses, "classes", TENON_PARAM_INT, "number of classes", .default_value = TENON_STRING("3"),
      .range = TENON_STRING("[2, inf)"));
PARAM(kGain, "gain", TENON_PARAM_FLOAT, "of the first weights of the path", .default_value = TENON_STRING("1.5"),
      .range = TENON_STRING("(0, inf)"));
PARAM(kDrop, "drop", TENON_PARAM_FLOAT, "share of the numbers that are zeroed", .default_value = TENON_STRING("0.25"),
      .range = TENON_STRING("[0, 1)"));
PARAM(kAttend, "attend", TENON_PARAM_BOOL, "weigh the words by the context", .default_value = TENON_STRING("true"));
static const tenon_param* const kParams[] = {&kWidth, &kClasses, &kGain, &kDrop, &kAttend};

static const tenon_model kTable = {
    .size = sizeof kTable, .create = create, .destroy = destroy, .ports = ports, .build = build, .forward = forward};

static const tenon_component kComponent = {.size = sizeof kComponent,
                                           .kind = TENON_MODEL,
                                           .id = TENON_STRING("golden_model"),
                                           .doc = TENON_STRING("four inputs, two outputs, a gradient of its own"),
                                           .params = kParams,
                                           .param_count = COUNT(kParams),
                                           .table = &kTable};
static const tenon_component* const kComponents[] = {&kComponent};

static const tenon_string kOperators[] = {
    TENON_STRING("aten::abs"),
    TENON_STRING("aten::add.Scalar"),
    TENON_STRING("aten::add.Tensor"),
    TENON_STRING("aten::add_.Scalar"),
    TENON_STRING("aten::batch_norm"),
    TENON_STRING("aten::cat"),
    TENON_STRING("aten::clamp_min"),
    TENON_STRING("aten::conv2d"),
    TENON_STRING("aten::copy_"),
    TENON_STRING("aten::detach"),
    TENON_STRING("aten::div.Scalar"),
    TENON_STRING("aten::div.Tensor"),
    TENON_STRING("aten::embedding"),
    TENON_STRING("aten::leaky_relu"),
    TENON_STRING("aten::linear"),
    TENON_STRING("aten::lt.Scalar"),
    TENON_STRING("aten::masked_fill.Scalar"),
    TENON_STRING("aten::matmul"),
    TENON_STRING("aten::max_pool2d"),
    TENON_STRING("aten::mean.dim"),
    TENON_STRING("aten::mul.Scalar"),
    TENON_STRING("aten::mul.Tensor"),
    TENON_STRING("aten::ones_like"),
    TENON_STRING("aten::relu"),
    TENON_STRING("aten::reshape"),
    TENON_STRING("aten::round"),
    TENON_STRING("aten::sqrt"),
    TENON_STRING("aten::squeeze.dim"),
    TENON_STRING("aten::sub.Tensor"),
    TENON_STRING("aten::sum.dim_IntList"),
    TENON_STRING("aten::to.dtype"),
    TENON_STRING("aten::unsqueeze"),
    TENON_STRING("aten::var_mean.correction"),
};

static const tenon_plugin kPlugin = {.size = sizeof kPlugin,
                                     .id = TENON_STRING("golden_model"),
                                     .version = TENON_STRING("1.0.0"),
                                     .license = TENON_STRING("Apache-2.0"),
                                     .doc = TENON_STRING("The model that every host of version 1 serves."),
                                     .components = kComponents,
                                     .component_count = COUNT(kComponents),
                                     .operators = kOperators,
                                     .operator_count = COUNT(kOperators)};

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, &kPlugin);
}
