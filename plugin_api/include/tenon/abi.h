/* What every other header of the plugin contract stands on: versions, statuses, strings and values.
 *
 * Rules of the whole contract (docs/decisions/0002-plugin-abi.md says why):
 *   - Structs hold fixed-width integers, double and pointers only. Every struct that may grow starts with `size`, the
 *     number of bytes its author knew; a reader touches a field only if `size` reaches it. Fields are only appended.
 *   - Structs that can grow cross in arrays of pointers, never by value. tenon_string and tenon_value are frozen and
 *     may cross by value.
 *   - Text is UTF-8 with a length, not terminated, borrowed for the call unless a comment says otherwise.
 *   - Nothing is freed by the other side. No exception crosses in either direction.
 *   - Every function is tagged with the thread it may be called on: [load] while plugins are opened, [train] the thread
 *     that trains, [worker] a data worker, [autograd] the thread that runs backward, [any] whichever.
 *
 * The headers compile alone as C11 and as C++17 or later. */
#ifndef TENON_ABI_H
#define TENON_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Version numbers are plain arithmetic, so that #if can compare them. */
#define TENON_MAKE_ABI(major, minor) (((major) << 16) | (minor))

/* The version that these headers describe, and the oldest that a host with these headers still loads. A minor version
 * only adds; what a major version holds stays as it is. */
#define TENON_ABI_CURRENT TENON_MAKE_ABI(1, 0)
#define TENON_ABI_OLDEST TENON_MAKE_ABI(1, 0)

/* The oldest host that a plugin is meant for: the version that it answers with as its minimum. Define it before the
 * first header to use what came later. */
#ifndef TENON_TARGET_ABI
#define TENON_TARGET_ABI TENON_ABI_OLDEST
#endif

#if TENON_TARGET_ABI < TENON_ABI_OLDEST || TENON_TARGET_ABI > TENON_ABI_CURRENT
#error "TENON_TARGET_ABI: expected a version from TENON_ABI_OLDEST to TENON_ABI_CURRENT of these headers"
#endif

/* A field that came with version 1.1 is declared as TENON_SINCE_1_1(field), and so on: in a plugin that targets an
 * older version the field has another name, so that to name it does not compile, while the struct stays the same. (The
 * attribute `unavailable` will not do: GCC overlooks it in initialisers, and Clang also finds it in `= {}`.) What
 * carries no mark is of 1.0. */

#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT
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

/* Zero is success. A function that returns another status first gives the text to tenon_host.fail. */
typedef int32_t tenon_status;
enum {
  TENON_OK = 0,
  TENON_FAILED = 1,           /* anything without a better name */
  TENON_INVALID_ARGUMENT = 2, /* the caller passed something wrong */
  TENON_NOT_FOUND = 3,        /* no parameter, operator or extension of that name */
  TENON_BAD_DATA = 4,         /* a sample cannot be read: the run ends with the data exit code */
  TENON_UNSUPPORTED = 5,      /* right, but this side cannot do it */
  TENON_WRONG_THREAD = 6      /* called on a thread that the tag does not allow */
};

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

typedef struct tenon_string {
  const char* data; /* UTF-8, not terminated; may be null when size is 0 */
  uint64_t size;    /* bytes */
} tenon_string;

/* A string literal as a tenon_string, usable in static initialisers of C and C++. */
#define TENON_STRING(literal) \
  { (literal), sizeof(literal) - 1 }

/* ---- Data types -------------------------------------------------------------------------------------------------- */

/* Element types of tensors and dataset fields. The numbers are Tenon's own and never change. */
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

/* A set of dtypes, for ports. */
#define TENON_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))
#define TENON_ANY_DTYPE UINT64_C(0)
#define TENON_ANY_FLOAT                                                                                \
  (TENON_DTYPE_BIT(TENON_FLOAT16) | TENON_DTYPE_BIT(TENON_BFLOAT16) | TENON_DTYPE_BIT(TENON_FLOAT32) | \
   TENON_DTYPE_BIT(TENON_FLOAT64))
#define TENON_ANY_INTEGER                                                                      \
  (TENON_DTYPE_BIT(TENON_UINT8) | TENON_DTYPE_BIT(TENON_INT8) | TENON_DTYPE_BIT(TENON_INT16) | \
   TENON_DTYPE_BIT(TENON_INT32) | TENON_DTYPE_BIT(TENON_INT64))

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* A tensor is an opaque handle: see tensor.h. */
typedef struct tenon_tensor tenon_tensor;

enum {
  TENON_VALUE_NONE = 0,     /* an optional argument that is absent */
  TENON_VALUE_BOOL = 1,     /* i: 0 or 1 */
  TENON_VALUE_INT = 2,      /* i */
  TENON_VALUE_FLOAT = 3,    /* f */
  TENON_VALUE_STRING = 4,   /* p: const char*, n bytes */
  TENON_VALUE_TENSOR = 5,   /* p: tenon_tensor* */
  TENON_VALUE_DTYPE = 6,    /* i: TENON_FLOAT32 ... */
  TENON_VALUE_INTS = 7,     /* p: const int64_t*, n of them */
  TENON_VALUE_FLOATS = 8,   /* p: const double*, n of them */
  TENON_VALUE_STRINGS = 9,  /* p: const tenon_string*, n of them */
  TENON_VALUE_TENSORS = 10, /* p: tenon_tensor* const*, n of them; a null handle is an absent tensor */
  TENON_VALUE_BOOLS = 11    /* p: const uint8_t*, n of them, each 0 or 1 */
};

/* A parameter's value, or an argument or result of an operator. Frozen: 24 bytes for ever. */
typedef struct tenon_value {
  uint32_t kind; /* TENON_VALUE_... */
  uint32_t reserved;
  union {
    int64_t i;
    double f;
    const void* p;
  } as;
  uint64_t n; /* bytes of a string, elements of a list, else 0 */
} tenon_value;

TENON_STATIC_ASSERT(sizeof(tenon_string) == 16, "tenon_string is frozen");
TENON_STATIC_ASSERT(sizeof(tenon_value) == 24 && offsetof(tenon_value, as) == 8 && offsetof(tenon_value, n) == 16,
                    "tenon_value is frozen");

static inline tenon_string tenon_make_string(const char* data, uint64_t size) {
  tenon_string text;
  text.data = data;
  text.size = size;
  return text;
}

static inline tenon_value tenon_none(void) {
  tenon_value value;
  value.kind = TENON_VALUE_NONE;
  value.reserved = 0;
  value.as.i = 0;
  value.n = 0;
  return value;
}

static inline tenon_value tenon_bool(int truth) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_BOOL;
  value.as.i = truth != 0;
  return value;
}

static inline tenon_value tenon_int(int64_t number) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_INT;
  value.as.i = number;
  return value;
}

static inline tenon_value tenon_float(double number) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_FLOAT;
  value.as.f = number;
  return value;
}

static inline tenon_value tenon_dtype(int64_t dtype) {
  tenon_value value = tenon_none();
  value.kind = TENON_VALUE_DTYPE;
  value.as.i = dtype;
  return value;
}

static inline tenon_value tenon_tensor_value(const tenon_tensor* tensor) {
  tenon_value value = tenon_none();
  if (tensor) value.kind = TENON_VALUE_TENSOR;
  value.as.p = tensor;
  return value;
}

static inline tenon_value tenon_list_value(uint32_t kind, const void* data, uint64_t n) {
  tenon_value value = tenon_none();
  value.kind = kind;
  value.as.p = data;
  value.n = n;
  return value;
}

static inline tenon_value tenon_text(const char* data, uint64_t size) {
  return tenon_list_value(TENON_VALUE_STRING, data, size);
}

static inline tenon_value tenon_ints(const int64_t* data, uint64_t n) {
  return tenon_list_value(TENON_VALUE_INTS, data, n);
}

static inline tenon_value tenon_tensors(tenon_tensor* const* data, uint64_t n) {
  return tenon_list_value(TENON_VALUE_TENSORS, (const void*)data, n);
}

/* The bytes of a sized struct up to the end of a field: the smallest `size` with which the field may be read. */
#define TENON_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((const type*)0)->field))

/* Whether a sized struct of the other side has the field. */
#define TENON_HAS(pointer, type, field) ((pointer)->size >= TENON_SIZE_TO(type, field))

/* Where a struct's last field of version 1.0 ends, on every platform and for ever. */
#define TENON_FREEZE(type, last, bytes) \
  TENON_STATIC_ASSERT(TENON_SIZE_TO(type, last) == (bytes), #type " is frozen up to " #last)

#ifdef __cplusplus
}
#endif
#endif
