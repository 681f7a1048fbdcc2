/* The host's table: everything that a plugin may ask of the host. One for the process, valid until it ends. */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "abi.h"
#include "parameters.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call on the training thread happens within. Borrowed for the call. */
typedef struct tenon_frame {
  uint64_t size;
  tenon_tensor* const* tensors; /* model: what build() declared or adopted, by index; metric: its states; else null */
  uint64_t tensor_count;
  uint32_t training; /* 1: train, 0: evaluate */
  uint32_t rank;     /* of this process, 0 <= rank < world_size */
  uint32_t world_size;
  uint32_t reserved;
  int64_t step;  /* optimizer steps done so far */
  int64_t epoch; /* from 1; 0 before the first */
  /* A function of (run seed, rank, step, train or evaluate) alone, for what draws random numbers without ATen: the same
   * when the host computes a step again. */
  uint64_t seed;
} tenon_frame;
TENON_FREEZE(tenon_frame, seed, 64);

typedef struct tenon_named_value {
  tenon_string name;
  tenon_value value;
} tenon_named_value; /* frozen, like its parts */

TENON_STATIC_ASSERT(sizeof(tenon_named_value) == 40, "tenon_named_value is frozen");

enum { TENON_LOG_DEBUG = 1, TENON_LOG_INFO = 2, TENON_LOG_WARNING = 3 };

typedef struct tenon_host {
  uint64_t size;
  uint32_t abi; /* the version chosen for this process: see plugin.h */
  uint32_t reserved;

  /* [any] Records why the function in hand is about to return `status`; returns `status`, so that a plugin can write
   * `return host->fail(TENON_BAD_DATA, text);`. The host adds plugin, component, function and sample or step. */
  tenon_status (*fail)(tenon_status status, tenon_string message);

  /* [any] Writes a line to the run's log, headed by the plugin's id where it is known. */
  void (*log)(uint32_t level, tenon_string message);

  /* [any] A parameter of create()'s params, of the kind that its schema says (a path comes as a string, absolute). Text
   * and lists are borrowed for the call of create. TENON_NOT_FOUND if the schema has no such parameter. */
  tenon_status (*param)(const tenon_params* params, tenon_string name, tenon_value* out);

  /* [any] One more, one fewer owner of the tensor. Null is allowed and ignored. */
  void (*retain)(tenon_tensor* tensor);
  void (*release)(tenon_tensor* tensor);

  /* [any] Shape, dtype and device. */
  tenon_status (*tensor_info)(const tenon_tensor* tensor, tenon_tensor_info* out);

  /* [any] The elements of a contiguous CPU tensor, borrowed while the tensor lives; TENON_UNSUPPORTED for any other.
   * Writing to it goes behind autograd's back. */
  tenon_status (*tensor_data)(tenon_tensor* tensor, void** out);

  /* [train] Looks up an ATen operator: name without overload (`aten::add`), overload (`Tensor`, may be empty).
   * TENON_NOT_FOUND lists near names. */
  tenon_status (*op)(tenon_string name, tenon_string overload, const tenon_op** out);

  /* [train] Calls the operator through the dispatcher, so that autograd, autocast and no_grad apply.
   * Positional `args`, then `kwargs` by name; missing arguments take the defaults of the operator's schema. A list of
   * tensors in the result is spread over the results. `results` receives exactly `result_count` values; handles in it
   * belong to the frame. TENON_WRONG_THREAD on any thread but the frame's. */
  tenon_status (*call)(const tenon_frame* frame, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                       const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results,
                       uint64_t result_count);

  /* [any] A table by id, such as TENON_GRADIENT, or null if this host does not have it. An id never changes its
   * meaning. */
  const void* (*get_extension)(tenon_string id);

  /* [train] A new tensor of the frame on the CPU with a copy of the elements, C-contiguous in the shape. */
  tenon_status (*make_tensor)(const tenon_frame* frame, int32_t dtype, const int64_t* shape, uint32_t rank,
                              const void* elements, tenon_tensor** out);

  /* [train] For a metric's update: adds rows, [n, ...] in the shape that the state declares, to the state of this
   * index, whose reduction is TENON_REDUCE_CONCATENATE. */
  tenon_status (*append)(const tenon_frame* frame, uint64_t state, tenon_tensor* rows);
} tenon_host;
TENON_FREEZE(tenon_host, append, 112);

#ifdef __cplusplus
}
#endif
#endif
