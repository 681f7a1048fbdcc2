/* A dataset in plain C11: points on a line, y = slope * x. */
#include <tenon/describe.h>
#include <tenon/tenon.h>

struct ramp {
  int64_t samples;
  double slope;
};

static tenon_status create(const tenon_host* host, const tenon_params* params, void** self) {
  struct ramp ramp;
  tenon_status status = tenon_read_int(host, params, "samples", &ramp.samples);
  if (status == TENON_OK) status = tenon_read_float(host, params, "slope", &ramp.slope);
  return status == TENON_OK ? tenon_new_instance(host, &ramp, sizeof ramp, self) : status;
}

static tenon_status length(void* self, int64_t* length) {
  *length = ((const struct ramp*)self)->samples;
  return TENON_OK;
}

TENON_FIELDS(fields, TENON_FIELD("x", TENON_FLOAT32, "position, 0 to 1", 1),
             TENON_FIELD("y", TENON_FLOAT32, "height", 1))

static tenon_status get(void* self, void* worker, const tenon_sample* sample,
                        const tenon_sink* sink) {
  const struct ramp* const ramp = self;
  const int64_t shape[] = {1};
  void *x, *y;
  tenon_status status = sink->slot(sink, 0, shape, 1, &x);
  (void)worker;
  if (status == TENON_OK) status = sink->slot(sink, 1, shape, 1, &y);
  if (status != TENON_OK) return status;
  *(float*)x = (float)sample->index / (float)ramp->samples;
  *(float*)y = (float)ramp->slope * *(float*)x;
  return TENON_OK;
}

static const tenon_dataset table = {.size = sizeof table,
                                    .create = create,
                                    .destroy = tenon_free_instance,
                                    .length = length,
                                    .fields = fields,
                                    .get = get};

TENON_C_PLUGIN("ramp", "1.0.0", "MIT", "A line, in C.",
               TENON_COMPONENT_WITH(TENON_DATASET, "ramp", "points on a line", table,
                                    TENON_INT_PARAM("samples", "64", "[1, inf)",
                                                    "number of points"),
                                    TENON_FLOAT_PARAM("slope", "2.0", "", "slope of the line")))
