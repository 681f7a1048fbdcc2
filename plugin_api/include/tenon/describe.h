/* Describes a plugin in C: its components, their parameters, fields and ports. Each macro makes a constant at file
 * scope, so that nothing has to be filled in at run time. Texts are string literals. C++ plugins use plugin.hpp
 * instead.
 *
 *   static tenon_status create(const tenon_host* host, const tenon_params* params, void** self);
 *   ...
 *   TENON_FIELDS(fields, TENON_FIELD("x", TENON_FLOAT32, "position", 1), TENON_SCALAR_FIELD("y", TENON_INT64, "class"))
 *
 *   static const tenon_dataset ramp = {
 *       .size = sizeof ramp, .create = create, .destroy = destroy, .length = length, .fields = fields, .get = get};
 *
 *   TENON_C_PLUGIN("ramp", "1.0.0", "MIT", "A line, in C.",
 *                  TENON_COMPONENT_WITH(TENON_DATASET, "ramp", "points on a line", ramp,
 *                                       TENON_INT_PARAM("samples", "64", "[1, inf)", "number of points")))
 *
 * The functions that read parameters return TENON_OK or report the error, so their results can be returned as they are.
 */
#ifndef TENON_DESCRIBE_H
#define TENON_DESCRIBE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_names.h"
#include "dataset.h"
#include "metric.h"
#include "model.h"
#include "plugin.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#else

/* ---- Parameters of a component: name, default as a TOML value or "" for a required parameter, range, description ---
 */

#define TENON_PARAM_OF(its_type, its_name, its_default, its_range, its_doc) \
  (&(const tenon_param){.size = sizeof(tenon_param),                        \
                        .name = TENON_STRING(its_name),                     \
                        .type = (its_type),                                 \
                        .default_value = TENON_STRING(its_default),         \
                        .range = TENON_STRING(its_range),                   \
                        .doc = TENON_STRING(its_doc)})
#define TENON_BOOL_PARAM(name, value, doc) TENON_PARAM_OF(TENON_PARAM_BOOL, name, value, "", doc)
#define TENON_INT_PARAM(name, value, range, doc) TENON_PARAM_OF(TENON_PARAM_INT, name, value, range, doc)
#define TENON_FLOAT_PARAM(name, value, range, doc) TENON_PARAM_OF(TENON_PARAM_FLOAT, name, value, range, doc)
#define TENON_STRING_PARAM(name, value, doc) TENON_PARAM_OF(TENON_PARAM_STRING, name, value, "", doc)
#define TENON_PATH_PARAM(name, value, doc) TENON_PARAM_OF(TENON_PARAM_PATH, name, value, "", doc)
#define TENON_INTS_PARAM(name, value, range, doc) TENON_PARAM_OF(TENON_PARAM_INTS, name, value, range, doc)
#define TENON_FLOATS_PARAM(name, value, range, doc) TENON_PARAM_OF(TENON_PARAM_FLOATS, name, value, range, doc)
#define TENON_STRINGS_PARAM(name, value, doc) TENON_PARAM_OF(TENON_PARAM_STRINGS, name, value, "", doc)

/* ---- Fields of a dataset, ports, and the states and values of a metric ------------------------------------------- */

/* The number of elements of a list of extents. */
#define TENON_EXTENTS(...) (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* TENON_FIELD(name, dtype, doc, 3, 224, 224): the extents of one sample follow; -1 for one that differs. */
#define TENON_FIELD(its_name, its_dtype, its_doc, ...)           \
  (&(const tenon_field){.size = sizeof(tenon_field),             \
                        .name = TENON_STRING(its_name),          \
                        .dtype = (its_dtype),                    \
                        .ndim = TENON_EXTENTS(__VA_ARGS__),      \
                        .shape = (const int64_t[]){__VA_ARGS__}, \
                        .doc = TENON_STRING(its_doc)})
#define TENON_SCALAR_FIELD(its_name, its_dtype, its_doc) \
  (&(const tenon_field){.size = sizeof(tenon_field),     \
                        .name = TENON_STRING(its_name),  \
                        .dtype = (its_dtype),            \
                        .doc = TENON_STRING(its_doc)})

/* TENON_CLASSES("label", 2, TENON_STRING("cat"), TENON_STRING("dog")): the number of classes and their names, for
 * TENON_CLASS_LISTS. */
#define TENON_CLASSES(its_field, its_count, ...)                 \
  (&(const tenon_class_names){.size = sizeof(tenon_class_names), \
                              .field = TENON_STRING(its_field),  \
                              .count = (its_count),              \
                              .names = (const tenon_string[its_count]){__VA_ARGS__}})

/* Shapes are texts such as "N,3,H,W", see port.h. `dtypes` is a set such as TENON_ANY_FLOAT. */
#define TENON_PORT_OF(its_direction, its_name, its_shape, its_dtypes, its_doc) \
  (&(const tenon_port){.size = sizeof(tenon_port),                             \
                       .direction = (its_direction),                           \
                       .name = TENON_STRING(its_name),                         \
                       .shape = TENON_STRING(its_shape),                       \
                       .dtypes = (its_dtypes),                                 \
                       .doc = TENON_STRING(its_doc)})
#define TENON_INPUT_PORT(name, shape, dtypes, doc) TENON_PORT_OF(TENON_INPUT, name, shape, dtypes, doc)
#define TENON_OUTPUT_PORT(name, shape, dtypes, doc) TENON_PORT_OF(TENON_OUTPUT, name, shape, dtypes, doc)

/* A state of a metric that is a number. */
#define TENON_SCALAR_STATE(its_name, its_dtype, its_reduction, its_initial) \
  (&(const tenon_state){.size = sizeof(tenon_state),                        \
                        .name = TENON_STRING(its_name),                     \
                        .dtype = (its_dtype),                               \
                        .reduction = (its_reduction),                       \
                        .initial = (its_initial)})
/* TENON_STATE(name, dtype, reduction, initial, 10, 10): the extents follow. */
#define TENON_STATE(its_name, its_dtype, its_reduction, its_initial, ...) \
  (&(const tenon_state){.size = sizeof(tenon_state),                      \
                        .name = TENON_STRING(its_name),                   \
                        .shape = (const int64_t[]){__VA_ARGS__},          \
                        .ndim = TENON_EXTENTS(__VA_ARGS__),               \
                        .dtype = (its_dtype),                             \
                        .reduction = (its_reduction),                     \
                        .initial = (its_initial)})
/* direction: 1 if higher is better, -1 if lower is better, otherwise 0. */
#define TENON_METRIC_VALUE(its_name, its_direction, its_doc)       \
  (&(const tenon_metric_value){.size = sizeof(tenon_metric_value), \
                               .name = TENON_STRING(its_name),     \
                               .direction = (its_direction),       \
                               .doc = TENON_STRING(its_doc)})

/* Define the function of a table that returns a list, such as `ports` of a model. The same list for all instances. */
#define TENON_LIST_FUNCTION(function, type, ...)                                         \
  static const type* const function##_items[] = {__VA_ARGS__};                           \
  static tenon_status function(void* self, const type* const** items, uint64_t* count) { \
    (void)self;                                                                          \
    *items = function##_items;                                                           \
    *count = sizeof function##_items / sizeof function##_items[0];                       \
    return TENON_OK;                                                                     \
  }
#define TENON_FIELDS(function, ...) TENON_LIST_FUNCTION(function, tenon_field, __VA_ARGS__)
#define TENON_CLASS_LISTS(function, ...) TENON_LIST_FUNCTION(function, tenon_class_names, __VA_ARGS__)
#define TENON_PORTS(function, ...) TENON_LIST_FUNCTION(function, tenon_port, __VA_ARGS__)
#define TENON_STATES(function, ...) TENON_LIST_FUNCTION(function, tenon_state, __VA_ARGS__)
#define TENON_METRIC_VALUES(function, ...) TENON_LIST_FUNCTION(function, tenon_metric_value, __VA_ARGS__)

/* ---- Components and the plugin ----------------------------------------------------------------------------------- */

/* TENON_COMPONENT_WITH(TENON_LOSS, "id", "doc", table, parameters...). `its_table` is the function table. */
#define TENON_COMPONENT(its_kind, its_id, its_doc, its_table) \
  (&(const tenon_component){.size = sizeof(tenon_component),  \
                            .kind = (its_kind),               \
                            .id = TENON_STRING(its_id),       \
                            .doc = TENON_STRING(its_doc),     \
                            .table = &(its_table)})
#define TENON_COMPONENT_WITH(its_kind, its_id, its_doc, its_table, ...) \
  TENON_COMPONENT_EXTENDED(its_kind, its_id, its_doc, its_table, NULL, __VA_ARGS__)

/* The same for a component with extensions: `its_get_extension` is tenon_component.get_extension. */
#define TENON_COMPONENT_EXTENDED(its_kind, its_id, its_doc, its_table, its_get_extension, ...)                \
  (&(const tenon_component){.size = sizeof(tenon_component),                                                  \
                            .kind = (its_kind),                                                               \
                            .id = TENON_STRING(its_id),                                                       \
                            .doc = TENON_STRING(its_doc),                                                     \
                            .params = (const tenon_param* const[]){__VA_ARGS__},                              \
                            .param_count = sizeof((const tenon_param* const[]){__VA_ARGS__}) / sizeof(void*), \
                            .table = &(its_table),                                                            \
                            .get_extension = (its_get_extension)})

/* Defines the entry function. Components follow the description. Use it once, at the end of one source file. */
#define TENON_C_PLUGIN(its_id, its_version, its_license, its_doc, ...)                        \
  static const tenon_component* const tenon_plugin_components[] = {__VA_ARGS__};              \
  static const tenon_plugin tenon_plugin_description = {                                      \
      .size = sizeof(tenon_plugin),                                                           \
      .id = TENON_STRING(its_id),                                                             \
      .version = TENON_STRING(its_version),                                                   \
      .license = TENON_STRING(its_license),                                                   \
      .doc = TENON_STRING(its_doc),                                                           \
      .components = tenon_plugin_components,                                                  \
      .component_count = sizeof tenon_plugin_components / sizeof tenon_plugin_components[0]}; \
  TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) { \
    return tenon_answer(offer, reply, &tenon_plugin_description);                             \
  }

#endif

/* ---- Errors, parameters, instances, tensors ---------------------------------------------------------------------- */

/* [any] Reports an error with a message as of printf, of at most 500 bytes, and returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
TENON_INLINE tenon_status
tenon_fail(const tenon_host* host, tenon_status status, const char* format, ...) {
  char text[501];
  va_list arguments;
  int size;
  va_start(arguments, format);
  size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size < 0) size = 0;
  if ((size_t)size >= sizeof text) size = (int)sizeof text - 1;
  return host->fail(status, tenon_make_string(text, (uint64_t)size));
}

/* [any] The same with a message that is complete, for languages without variadic functions. */
TENON_INLINE tenon_status tenon_fail_text(const tenon_host* host, tenon_status status, const char* text) {
  return host->fail(status, tenon_make_string(text, strlen(text)));
}

/* [any] The value of a parameter of the type TENON_PARAM_INT, and likewise below. */
TENON_INLINE tenon_status tenon_read_value(const tenon_host* host, const tenon_params* params, const char* name,
                                           uint32_t kind, tenon_value* value) {
  const tenon_status status = host->param(params, tenon_make_string(name, strlen(name)), value);
  char text[200];
  if (status != TENON_OK || value->kind == kind) return status;
  snprintf(text, sizeof text, "the parameter %s is read as another type than that of its schema", name);
  return tenon_fail_text(host, TENON_INVALID_ARGUMENT, text);
}

TENON_INLINE tenon_status tenon_read_int(const tenon_host* host, const tenon_params* params, const char* name,
                                         int64_t* out) {
  tenon_value value;
  const tenon_status status = tenon_read_value(host, params, name, TENON_VALUE_INT, &value);
  if (status == TENON_OK) *out = value.as.i;
  return status;
}

TENON_INLINE tenon_status tenon_read_float(const tenon_host* host, const tenon_params* params, const char* name,
                                           double* out) {
  tenon_value value;
  const tenon_status status = tenon_read_value(host, params, name, TENON_VALUE_FLOAT, &value);
  if (status == TENON_OK) *out = value.as.f;
  return status;
}

TENON_INLINE tenon_status tenon_read_bool(const tenon_host* host, const tenon_params* params, const char* name,
                                          int* out) {
  tenon_value value;
  const tenon_status status = tenon_read_value(host, params, name, TENON_VALUE_BOOL, &value);
  if (status == TENON_OK) *out = value.as.i != 0;
  return status;
}

/* The text of a string or path. It is borrowed for the call of create. */
TENON_INLINE tenon_status tenon_read_text(const tenon_host* host, const tenon_params* params, const char* name,
                                          tenon_string* out) {
  tenon_value value;
  const tenon_status status = tenon_read_value(host, params, name, TENON_VALUE_STRING, &value);
  if (status == TENON_OK) *out = tenon_make_string((const char*)value.as.p, value.n);
  return status;
}

/* A list of integers. It is borrowed for the call of create. */
TENON_INLINE tenon_status tenon_read_ints(const tenon_host* host, const tenon_params* params, const char* name,
                                          const int64_t** out, uint64_t* count) {
  tenon_value value;
  const tenon_status status = tenon_read_value(host, params, name, TENON_VALUE_INTS, &value);
  if (status == TENON_OK) {
    *out = (const int64_t*)value.as.p;
    *count = value.n;
  }
  return status;
}

/* [any] Copies a filled struct to new memory and returns it as the instance of a component, at the end of `create`. The
 * `destroy` of the component is tenon_free_instance. */
TENON_INLINE tenon_status tenon_new_instance(const tenon_host* host, const void* contents, size_t size, void** self) {
  void* const copy = malloc(size);
  if (!copy) return tenon_fail_text(host, TENON_FAILED, "out of memory");
  *self = memcpy(copy, contents, size);
  return TENON_OK;
}

TENON_INLINE void tenon_free_instance(void* self) { free(self); }

/* [train] Declares a float32 parameter of a model, in build(). `init`, `a` and `b`: see model.h. */
TENON_INLINE tenon_status tenon_declare_parameter(const tenon_builder* builder, const char* name, const int64_t* shape,
                                                  uint32_t ndim, uint32_t init, double a, double b, uint64_t* index) {
  tenon_declaration parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.size = sizeof parameter;
  parameter.name = tenon_make_string(name, strlen(name));
  parameter.shape = shape;
  parameter.ndim = ndim;
  parameter.dtype = TENON_FLOAT32;
  parameter.flags = TENON_TRAINABLE;
  parameter.init = init;
  parameter.a = a;
  parameter.b = b;
  return builder->declare(builder, &parameter, index);
}

/* [train] The number in a float64 state of a metric, in compute(). */
TENON_INLINE tenon_status tenon_read_state(const tenon_host* host, const tenon_frame* frame, uint64_t state,
                                           double* out) {
  void* elements;
  const tenon_status status = host->tensor_data(frame->tensors[state], &elements);
  if (status == TENON_OK) memcpy(out, elements, sizeof *out);
  return status;
}

#ifdef __cplusplus
}
#endif
#endif
