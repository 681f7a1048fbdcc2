/* A dataset in plain C11: points on a line, y = slope * x. */
#include <stdlib.h>
#include <tenon/tenon.h>

static const tenon_host* host;

struct ramp {
  int64_t samples;
  double slope;
};

static tenon_status create(const tenon_host* unused, const tenon_params* params, void** self) {
  tenon_value samples, slope;
  tenon_status status;
  struct ramp* ramp;
  (void)unused;
  status = host->param(params, tenon_make_string("samples", 7), &samples);
  if (status != TENON_OK) return status;
  status = host->param(params, tenon_make_string("slope", 5), &slope);
  if (status != TENON_OK) return status;
  ramp = malloc(sizeof *ramp);
  if (!ramp) return host->fail(TENON_FAILED, tenon_make_string("out of memory", 13));
  ramp->samples = samples.as.i;
  ramp->slope = slope.as.f;
  *self = ramp;
  return TENON_OK;
}

static void destroy(void* self) { free(self); }

static tenon_status length(void* self, int64_t* length) {
  *length = ((const struct ramp*)self)->samples;
  return TENON_OK;
}

static const int64_t one_number[] = {1};
static const tenon_field x_field = {.size = sizeof(tenon_field),
                                    .name = TENON_STRING("x"),
                                    .dtype = TENON_FLOAT32,
                                    .ndim = 1,
                                    .shape = one_number,
                                    .doc = TENON_STRING("position, 0 to 1")};
static const tenon_field y_field = {.size = sizeof(tenon_field),
                                    .name = TENON_STRING("y"),
                                    .dtype = TENON_FLOAT32,
                                    .ndim = 1,
                                    .shape = one_number,
                                    .doc = TENON_STRING("height")};
static const tenon_field* const all_fields[] = {&x_field, &y_field};

static tenon_status fields(void* self, const tenon_field* const** fields, uint64_t* count) {
  (void)self;
  *fields = all_fields;
  *count = 2;
  return TENON_OK;
}

static tenon_status get(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink) {
  const struct ramp* const ramp = self;
  void *x, *y;
  tenon_status status = sink->slot(sink, 0, one_number, 1, &x);
  (void)worker;
  if (status == TENON_OK) status = sink->slot(sink, 1, one_number, 1, &y);
  if (status != TENON_OK) return status;
  *(float*)x = (float)sample->index / (float)ramp->samples;
  *(float*)y = (float)ramp->slope * *(float*)x;
  return TENON_OK;
}

static const tenon_dataset table = {
    .size = sizeof(tenon_dataset),
    .create = create,
    .destroy = destroy,
    .length = length,
    .fields = fields,
    .get = get,
};

static const tenon_param samples_param = {.size = sizeof(tenon_param),
                                          .name = TENON_STRING("samples"),
                                          .type = TENON_PARAM_INT,
                                          .default_value = TENON_STRING("64"),
                                          .range = TENON_STRING("[1, inf)"),
                                          .doc = TENON_STRING("number of points")};
static const tenon_param slope_param = {.size = sizeof(tenon_param),
                                        .name = TENON_STRING("slope"),
                                        .type = TENON_PARAM_FLOAT,
                                        .default_value = TENON_STRING("2.0"),
                                        .doc = TENON_STRING("slope of the line")};
static const tenon_param* const params[] = {&samples_param, &slope_param};

static const tenon_component component = {.size = sizeof(tenon_component),
                                          .kind = TENON_DATASET,
                                          .id = TENON_STRING("ramp"),
                                          .doc = TENON_STRING("points on a line"),
                                          .params = params,
                                          .param_count = 2,
                                          .table = &table};
static const tenon_component* const components[] = {&component};

static const tenon_plugin plugin = {.size = sizeof(tenon_plugin),
                                    .id = TENON_STRING("ramp"),
                                    .version = TENON_STRING("1.0.0"),
                                    .license = TENON_STRING("MIT"),
                                    .doc = TENON_STRING("A line, in C."),
                                    .components = components,
                                    .component_count = 1};

TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  host = offer->host;
  return tenon_answer(offer, reply, &plugin);
}
