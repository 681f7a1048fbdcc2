/* A multilayer perceptron in C11 that uses only the plugin API: linear layers with ReLU between them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/describe.h>
#include <tenon/ops.h>
#include <tenon/tenon.h>

typedef struct layer {
  int64_t inputs;
  int64_t outputs;
  uint64_t weight; /* index into the frame's tensors */
  uint64_t bias;
} layer;

typedef struct mlp {
  const tenon_host* host;
  tenon_ops ops;
  char logits_shape[32];
  tenon_port logits;
  const tenon_port* ports[2];
  uint64_t layer_count;
  layer layers[];
} mlp;

/* ---- Creating a model -------------------------------------------------------------------------------------------- */

static const tenon_port* const kImage = TENON_INPUT_PORT("image", "N,...", TENON_ANY_FLOAT, "flattened to [N, inputs]");

static void describe_ports(mlp* self, int64_t classes) {
  const int length = snprintf(self->logits_shape, sizeof self->logits_shape, "N,%lld", (long long)classes);
  self->logits = (tenon_port){.size = sizeof(tenon_port),
                              .direction = TENON_OUTPUT,
                              .name = TENON_STRING("logits"),
                              .shape = tenon_make_string(self->logits_shape, (uint64_t)length),
                              .dtypes = TENON_ANY_FLOAT};
  self->ports[0] = kImage;
  self->ports[1] = &self->logits;
}

static tenon_status create(const tenon_host* host, const tenon_params* params, void** made) {
  int64_t inputs, classes;
  const int64_t* hidden;
  uint64_t hidden_count;
  tenon_status status = tenon_read_int(host, params, "inputs", &inputs);
  if (status == TENON_OK) status = tenon_read_ints(host, params, "hidden", &hidden, &hidden_count);
  if (status == TENON_OK) status = tenon_read_int(host, params, "classes", &classes);
  if (status != TENON_OK) return status;

  mlp* self = calloc(1, sizeof *self + (hidden_count + 1) * sizeof self->layers[0]);
  if (!self) return tenon_fail(host, TENON_FAILED, "out of memory");
  self->host = host;
  tenon_ops_open(host, &self->ops);
  self->layer_count = hidden_count + 1;
  for (uint64_t i = 0; i < self->layer_count; ++i) {
    self->layers[i].inputs = i == 0 ? inputs : self->layers[i - 1].outputs;
    self->layers[i].outputs = i < hidden_count ? hidden[i] : classes;
  }
  describe_ports(self, classes);
  *made = self;
  return TENON_OK;
}

static tenon_status ports(void* untyped, const tenon_port* const** ports, uint64_t* count) {
  mlp* self = untyped;
  *ports = self->ports;
  *count = 2;
  return TENON_OK;
}

/* Declares `layers.<number>.<part>` with the initial values of torch.nn.Linear: uniform within 1 / sqrt(inputs). */
static tenon_status declare(const tenon_builder* builder, const layer* of, uint64_t number, const char* part,
                            uint32_t ndim, uint64_t* index) {
  const int64_t weight_shape[2] = {of->outputs, of->inputs};
  const double bound = 1 / sqrt((double)of->inputs);
  char name[64];
  snprintf(name, sizeof name, "layers.%llu.%s", (unsigned long long)number, part);
  return tenon_declare_parameter(builder, name, weight_shape, ndim, TENON_INIT_UNIFORM, -bound, bound, index);
}

static tenon_status build(void* untyped, const tenon_builder* builder) {
  mlp* self = untyped;
  tenon_status status = TENON_OK;
  for (uint64_t i = 0; status == TENON_OK && i < self->layer_count; ++i) {
    layer* each = &self->layers[i];
    status = declare(builder, each, i, "weight", 2, &each->weight);
    if (status == TENON_OK) status = declare(builder, each, i, "bias", 1, &each->bias);
  }
  return status;
}

/* ---- Forward ----------------------------------------------------------------------------------------------------- */

static tenon_status check_features(mlp* self, tenon_calls* calls, tenon_tensor* features) {
  const int64_t found = tenon_extent(calls, features, 1);
  const int64_t expected = self->layers[0].inputs;
  if (calls->status != TENON_OK || found == expected) return calls->status;
  return tenon_fail(self->host, TENON_INVALID_ARGUMENT,
                    "a sample of \"image\" has %lld values; expected %lld; set params.inputs to %lld", (long long)found,
                    (long long)expected, (long long)found);
}

static tenon_status forward(void* untyped, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                            tenon_tensor** outputs, uint64_t output_count) {
  mlp* self = untyped;
  tenon_calls calls = tenon_begin(&self->ops, frame);
  if (input_count != 1 || output_count != 1) {
    return tenon_fail(self->host, TENON_INVALID_ARGUMENT, "expected one input and one output");
  }
  tenon_tensor_info info = {.size = sizeof info};
  if (calls.status == TENON_OK) calls.status = self->host->tensor_info(inputs[0], &info);
  /* A field without dimensions is [N]. */
  tenon_tensor* features =
      info.ndim == 1 ? tenon_unsqueeze(&calls, inputs[0], 1) : tenon_flatten(&calls, inputs[0], 1, -1);
  const tenon_status status = check_features(self, &calls, features);
  if (status != TENON_OK) return status;
  for (uint64_t i = 0; i < self->layer_count; ++i) {
    const layer* each = &self->layers[i];
    if (i > 0) features = tenon_relu(&calls, features);
    features = tenon_linear(&calls, features, frame->tensors[each->weight], frame->tensors[each->bias]);
  }
  outputs[0] = features;
  return calls.status;
}

/* ---- CUDA graphs ------------------------------------------------------------------------------------------------- */

static tenon_status is_capturable(void* self, uint32_t* result) {
  (void)self;
  *result = 1;
  return TENON_OK;
}

/* ---- Sizes of the data ------------------------------------------------------------------------------------------- */

static tenon_status roles(const tenon_parameter_role** given, uint64_t* count) {
  static const tenon_parameter_role sizes[] = {{.parameter = TENON_STRING("inputs"), .role = TENON_ROLE_FEATURES},
                                               {.parameter = TENON_STRING("classes"), .role = TENON_ROLE_CLASSES}};
  *given = sizes;
  *count = sizeof sizes / sizeof sizes[0];
  return TENON_OK;
}

static int is_same(tenon_string a, tenon_string b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }

static const void* get_extension(tenon_string id) {
  static const tenon_capture capture = {.size = sizeof capture, .is_capturable = is_capturable};
  static const tenon_parameter_roles parameters = {.size = sizeof parameters, .roles = roles};
  if (is_same(id, (tenon_string)TENON_STRING(TENON_CAPTURE))) return &capture;
  if (is_same(id, (tenon_string)TENON_STRING(TENON_PARAMETER_ROLES))) return &parameters;
  return NULL;
}

/* ---- Plugin description ------------------------------------------------------------------------------------------ */

static const tenon_param* const kParams[] = {
    TENON_INT_PARAM("inputs", "64", "[1, 1e9]", "values in a sample, flattened; if left out, those of the data"),
    TENON_INTS_PARAM("hidden", "[128]", "[1, 1e9]", "width of each hidden layer; empty for a linear model"),
    TENON_INT_PARAM("classes", "10", "[1, 1e9]", "number of classes; if left out, that of the data")};

static const tenon_model kTable = {.size = sizeof kTable,
                                   .create = create,
                                   .destroy = tenon_free_instance,
                                   .ports = ports,
                                   .build = build,
                                   .forward = forward};

static const tenon_component kComponent = {.size = sizeof kComponent,
                                           .kind = TENON_MODEL,
                                           .id = TENON_STRING("mlp"),
                                           .doc = TENON_STRING("linear layers with ReLU between them"),
                                           .params = kParams,
                                           .param_count = sizeof kParams / sizeof kParams[0],
                                           .table = &kTable,
                                           .get_extension = get_extension};

TENON_C_PLUGIN("mlp", "0.1.0", "Apache-2.0", "A multilayer perceptron, in C.", &kComponent)
