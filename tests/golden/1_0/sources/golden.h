/* Code that the golden plugins share: reading parameters, random numbers from a seed, and macros for descriptions. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <tenon/tenon.h>

#define TEXT(literal) ((tenon_string)TENON_STRING(literal))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Defines a parameter of the schema. The variadic arguments set further fields, such as
 * `.range = TENON_STRING("[0, inf)")`. */
#define PARAM(variable, its_name, its_type, its_doc, ...)              \
  static const tenon_param variable = {.size = sizeof(tenon_param),    \
                                       .name = TENON_STRING(its_name), \
                                       .type = its_type,               \
                                       .doc = TENON_STRING(its_doc),   \
                                       __VA_ARGS__}

#define PORT(its_name, its_direction, its_shape, its_dtypes)                                \
  {                                                                                         \
    .size = sizeof(tenon_port), .direction = its_direction, .name = TENON_STRING(its_name), \
    .shape = TENON_STRING(its_shape), .dtypes = its_dtypes                                  \
  }

#define FLOAT64 TENON_DTYPE_BIT(TENON_FLOAT64)
#define INT64 TENON_DTYPE_BIT(TENON_INT64)

/* The name of a parameter, and where to store its value. read_params stops at the first one that fails. */
typedef struct expected {
  const char* name;
  uint64_t length;
  tenon_value* value;
} expected;
#define WANTED(its_name, its_value) \
  { its_name, sizeof(its_name) - 1, its_value }

static inline tenon_status read_params(const tenon_host* host, const tenon_params* params, const expected* all,
                                       uint64_t count) {
  tenon_status status = TENON_OK;
  for (uint64_t i = 0; status == TENON_OK && i < count; ++i) {
    status = host->param(params, tenon_make_string(all[i].name, all[i].length), all[i].value);
  }
  return status;
}

/* SplitMix64: Steele et al., Fast splittable pseudorandom number generators, 2014. It computes only with integers, so
 * its results are the same on every machine. */
static inline uint64_t next_number(uint64_t* state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Returns a multiple of 1/65536 in [-0.5, 0.5). It is exact, so nothing is rounded. */
static inline double next_fraction(uint64_t* state) {
  return (double)(int64_t)(next_number(state) >> 48) / 65536.0 - 0.5;
}

#endif
