/* Versions, status codes, strings and values. Every other header of the plugin ABI includes this one.
 *
 * Rules for the whole ABI (docs/decisions/0002-plugin-abi.md gives the reasons):
 *   - Structs contain only fixed-width integers, double and pointers. A struct that may grow starts with `size`, the
 *     number of bytes that its author knew. A reader accesses a field only if `size` covers it. New fields are only
 *     appended.
 *   - Structs that can grow are passed in arrays of pointers, never by value. tenon_string and tenon_value are frozen
 *     and may be passed by value.
 *   - Text is UTF-8 with a length and without a terminator. It is borrowed for the call unless a comment states
 *     otherwise.
 *   - Neither side frees memory of the other side. No exception crosses the boundary in either direction.
 *   - Every function has a tag for the thread that may call it. [load]: while plugins are opened. [train]: the training
 *     thread. [worker]: a data worker. [autograd]: the thread that runs backward. [any]: any thread.
 *
 * Each header compiles by itself as C11 and as C++17 or later. */
#ifndef TENON_ABI_H
#define TENON_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Encodes a version as an integer, so that #if can compare versions. */
#define TENON_MAKE_ABI(major, minor) (((major) << 16) | (minor))

/* The version that these headers describe, and the oldest version that a host with these headers still loads. A minor
 * version only adds to the ABI. Everything that belongs to a major version stays unchanged. */
#define TENON_ABI_CURRENT TENON_MAKE_ABI(1, 0)
#define TENON_ABI_OLDEST TENON_MAKE_ABI(1, 0)

/* The oldest host version that the plugin supports. The plugin reports it as its minimum. Define it before including
 * the first header to use features of a later version. */
#ifndef TENON_TARGET_ABI
#define TENON_TARGET_ABI TENON_ABI_OLDEST
#endif

#if TENON_TARGET_ABI < TENON_ABI_OLDEST || TENON_TARGET_ABI > TENON_ABI_CURRENT
#error "TENON_TARGET_ABI: expected a version from TENON_ABI_OLDEST to TENON_ABI_CURRENT of these headers"
#endif

/* A field that version 1.1 adds is declared as TENON_SINCE_1_1(field), and so on for later versions. In a plugin that
 * targets an older version the field has another name. Using the field then does not compile, while the layout of the
 * struct stays the same. (The attribute `unavailable` does not work here: GCC ignores it in initialisers, and Clang
 * also reports it for `= {}`.) A declaration without a tag belongs to version 1.0. */

#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT
#endif

/* The functions that the headers define. Languages that cannot include the headers link libtenon_functions.a, which has
 * them with external linkage. */
#ifndef TENON_INLINE
#define TENON_INLINE static inline
#endif

#ifdef __cplusplus
#define TENON_EXTERN_C extern "C"
#define TENON_STATIC_ASSERT(condition, message) static_assert(condition, message)
extern "C" {
#else
#define TENON_EXTERN_C
#define TENON_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

/* ---- Statuses ---------------------------------------------------------------------------------------------------- */

/* Zero is success. A function that returns another status first passes the error message to tenon_host.fail. */
typedef int32_t tenon_status;
enum {
  TENON_OK = 0,
  TENON_FAILED = 1,           /* any error without a more specific status */
  TENON_INVALID_ARGUMENT = 2, /* the caller passed an invalid argument */
  TENON_NOT_FOUND = 3,        /* there is no parameter, operator or extension of that name */
  TENON_BAD_DATA = 4,         /* a sample cannot be read; the run ends with the exit code for data errors */
  TENON_UNSUPPORTED = 5,      /* the request is valid, but this side does not support it */
  TENON_WRONG_THREAD = 6      /* called on a thread that the function's tag does not allow */
};

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

typedef struct tenon_string {
  const char* data; /* UTF-8 without a terminator; may be null if size is 0 */
  uint64_t size;    /* bytes */
} tenon_string;

/* Initialises a tenon_string from a string literal. It works in static initialisers of C and C++. */
#define TENON_STRING(literal) \
  { (literal), sizeof(literal) - 1 }

/* ---- Data types -------------------------------------------------------------------------------------------------- */

/* Element types of tensors and dataset fields. The numbers are defined by Tenon and never change. */
enum {
  TENON_DTYPE_NONE = 0,
  TENON_UINT8 = 1,
  TENON_INT8 = 2,
  TENON_INT16 = 3,
  TENON_INT32 = 4,
  TENON_INT64 = 5,
  TENON_FLOAT16 = 6,
  TENON_BFLOAT16 = 7,
  TENON_FLOAT32 = 8,
  TENON_FLOAT64 = 9,
  TENON_BOOL = 10,
  TENON_COMPLEX64 = 11,
  TENON_COMPLEX128 = 12
};

/* Bits for a set of dtypes, used by ports. */
#define TENON_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))
#define TENON_ANY_DTYPE UINT64_C(0)
#define TENON_ANY_FLOAT                                                                                \
  (TENON_DTYPE_BIT(TENON_FLOAT16) | TENON_DTYPE_BIT(TENON_BFLOAT16) | TENON_DTYPE_BIT(TENON_FLOAT32) | \
   TENON_DTYPE_BIT(TENON_FLOAT64))
#define TENON_ANY_INTEGER                                                                      \
  (TENON_DTYPE_BIT(TENON_UINT8) | TENON_DTYPE_BIT(TENON_INT8) | TENON_DTYPE_BIT(TENON_INT16) | \
   TENON_DTYPE_BIT(TENON_INT32) | TENON_DTYPE_BIT(TENON_INT64))

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* An opaque tensor handle, see tensor.h. */
typedef struct tenon_tensor tenon_tensor;

enum {
  TENON_VALUE_NONE = 0,     /* an absent optional argument */
  TENON_VALUE_BOOL = 1,     /* i: 0 or 1 */
  TENON_VALUE_INT = 2,      /* i */
  TENON_VALUE_FLOAT = 3,    /* f */
  TENON_VALUE_STRING = 4,   /* p: const char*, n bytes */
  TENON_VALUE_TENSOR = 5,   /* p: tenon_tensor* */
  TENON_VALUE_DTYPE = 6,    /* i: TENON_FLOAT32 ... */
  TENON_VALUE_INTS = 7,     /* p: const int64_t*, n elements */
  TENON_VALUE_FLOATS = 8,   /* p: const double*, n elements */
  TENON_VALUE_STRINGS = 9,  /* p: const tenon_string*, n elements */
  TENON_VALUE_TENSORS = 10, /* p: tenon_tensor* const*, n elements; a null handle is an absent tensor */
  TENON_VALUE_BOOLS = 11    /* p: const uint8_t*, n elements, each 0 or 1 */
};

/* The value of a parameter, or an argument or result of an operator. Frozen: its size is always 24 bytes. */
typedef struct tenon_value {
  uint32_t kind; /* TENON_VALUE_... */
  uint32_t reserved;
  union {
    int64_t i;
    double f;
    const void* p;
  } as;
  uint64_t n; /* number of bytes of a string, number of elements of a list, otherwise 0 */
} tenon_value;

TENON_STATIC_ASSERT(sizeof(tenon_string) == 16, "tenon_string is frozen");
TENON_STATIC_ASSERT(sizeof(tenon_value) == 24 && offsetof(tenon_value, as) == 8 && offsetof(tenon_value, n) == 16,
                    "tenon_value is frozen");

TENON_INLINE tenon_string tenon_make_string(const char* data, uint64_t size) {
  tenon_string text;
  text.data = data;
  text.size = size;
  return text;
}

TENON_INLINE tenon_value tenon_none(void) {
  tenon_value value;
  value.kind = TENON_VALUE_NONE;
  value.reserved = 0;
  value.as.i = 0;
  value.n = 0;
  return value;
}

TENON_INLINE tenon_value tenon_bool(int truth) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_BOOL;
  value.as.i = truth != 0;
  return value;
}

TENON_INLINE tenon_value tenon_int(int64_t number) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_INT;
  value.as.i = number;
  return value;
}

TENON_INLINE tenon_value tenon_float(double number) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_FLOAT;
  value.as.f = number;
  return value;
}

TENON_INLINE tenon_value tenon_dtype(int64_t dtype) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_DTYPE;
  value.as.i = dtype;
  return value;
}

TENON_INLINE tenon_value tenon_tensor_value(const tenon_tensor* tensor) {
  tenon_value value = tenon_none();
  if (tensor) value.kind = TENON_VALUE_TENSOR;
  value.as.p = tensor;
  return value;
}

TENON_INLINE tenon_value tenon_list_value(uint32_t kind, const void* data, uint64_t n) {
  tenon_value value = tenon_none();
  value.kind = kind;
  value.as.p = data;
  value.n = n;
  return value;
}

TENON_INLINE tenon_value tenon_text(const char* data, uint64_t size) {
  return tenon_list_value(TENON_VALUE_STRING, data, size);
}

TENON_INLINE tenon_value tenon_ints(const int64_t* data, uint64_t n) {
  return tenon_list_value(TENON_VALUE_INTS, data, n);
}

TENON_INLINE tenon_value tenon_tensors(tenon_tensor* const* data, uint64_t n) {
  return tenon_list_value(TENON_VALUE_TENSORS, (const void*)data, n);
}

/* The number of bytes of a sized struct up to the end of a field. The field may be read if `size` is at least this. */
#define TENON_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((const type*)0)->field))

/* Whether a sized struct of the other side contains the field. */
#define TENON_HAS(pointer, type, field) ((pointer)->size >= TENON_SIZE_TO(type, field))

/* Asserts where the last field of version 1.0 of a struct ends. This offset is the same on every platform and never
 * changes. */
#define TENON_FREEZE(type, last, bytes) \
  TENON_STATIC_ASSERT(TENON_SIZE_TO(type, last) == (bytes), #type " is frozen up to " #last)

#ifdef __cplusplus
}
#endif
#endif
