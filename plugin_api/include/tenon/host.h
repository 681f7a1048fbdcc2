/* The functions that the host provides to plugins. A process has one such table, valid until the process ends. */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "abi.h"
#include "parameters.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The context of a call on the training thread. Borrowed for the call. */
typedef struct tenon_frame {
  uint64_t size;
  /* model: the tensors that build() declared or adopted, by index; metric: its states; otherwise null */
  tenon_tensor* const* tensors;
  uint64_t tensor_count;
  uint32_t training; /* 1: training, 0: evaluation */
  uint32_t rank;     /* rank of this process, 0 <= rank < world_size */
  uint32_t world_size;
  uint32_t reserved;
  int64_t step;  /* number of completed optimizer steps */
  int64_t epoch; /* counted from 1; 0 before the first epoch */
  /* A seed for random numbers that do not come from ATen. It depends only on the run seed, rank, step, and train or
   * evaluate, so it is the same when the host recomputes a step. */
  uint64_t seed;
} tenon_frame;
TENON_FREEZE(tenon_frame, seed, 64);

typedef struct tenon_named_value {
  tenon_string name;
  tenon_value value;
} tenon_named_value; /* frozen, like its members */

TENON_STATIC_ASSERT(sizeof(tenon_named_value) == 40, "tenon_named_value is frozen");

enum { TENON_LOG_DEBUG = 1, TENON_LOG_INFO = 2, TENON_LOG_WARNING = 3 };

typedef struct tenon_host {
  uint64_t size;
  uint32_t abi; /* the version chosen for this process, see plugin.h */
  uint32_t reserved;

  /* [any] Records the error message for the `status` that the current function is about to return. Returns `status`, so
   * that a plugin can write `return host->fail(TENON_BAD_DATA, text);`. The host adds the plugin, the component, the
   * function, and the sample or step. */
  tenon_status (*fail)(tenon_status status, tenon_string message);

  /* [any] Writes a line to the log of the run. The line starts with the plugin's id if it is known. */
  void (*log)(uint32_t level, tenon_string message);

  /* [any] Reads a parameter from the params of create(). The value has the type that its schema declares; a path is an
   * absolute path string. Text and lists are borrowed for the call of create. Returns TENON_NOT_FOUND if the schema has
   * no such parameter. */
  tenon_status (*param)(const tenon_params* params, tenon_string name, tenon_value* out);

  /* [any] Increments or decrements the reference count of the tensor. Null is ignored. */
  void (*retain)(tenon_tensor* tensor);
  void (*release)(tenon_tensor* tensor);

  /* [any] Returns the shape, dtype and device of the tensor. */
  tenon_status (*tensor_info)(const tenon_tensor* tensor, tenon_tensor_info* out);

  /* [any] Returns the elements of a contiguous CPU tensor, borrowed while the tensor lives. Returns TENON_UNSUPPORTED
   * for any other tensor. Autograd does not see writes to this memory. */
  tenon_status (*tensor_data)(tenon_tensor* tensor, void** out);

  /* [train] Looks up an ATen operator by its name without overload (`aten::add`) and its overload (`Tensor`, may be
   * empty). Returns TENON_NOT_FOUND and lists similar names if there is no such operator. */
  tenon_status (*op)(tenon_string name, tenon_string overload, const tenon_op** out);

  /* [train] Calls the operator through the dispatcher, so that autograd, autocast and no_grad apply. Positional
   * arguments are in `args`, named arguments in `kwargs`. Missing arguments take the defaults of the operator's schema.
   * A list of tensors in the result is expanded into several results. `results` receives exactly `result_count` values.
   * Tensor handles in it belong to the frame. Returns TENON_WRONG_THREAD on any other thread than that of the frame. */
  tenon_status (*call)(const tenon_frame* frame, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                       const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results,
                       uint64_t result_count);

  /* [any] Returns the extension with this id, such as TENON_GRADIENT, or null if this host does not have it. The
   * meaning of an id never changes. */
  const void* (*get_extension)(tenon_string id);

  /* [train] Creates a CPU tensor with a copy of the elements, C-contiguous in the given shape. The tensor belongs to
   * the frame. */
  tenon_status (*make_tensor)(const tenon_frame* frame, int32_t dtype, const int64_t* shape, uint32_t ndim,
                              const void* elements, tenon_tensor** out);

  /* [train] For the update function of a metric: appends rows to the state with this index. The rows are [n, ...] with
   * the shape that the state declares. The reduction of the state must be TENON_REDUCE_CONCATENATE. */
  tenon_status (*append)(const tenon_frame* frame, uint64_t state, tenon_tensor* rows);
} tenon_host;
TENON_FREEZE(tenon_host, append, 112);

#ifdef __cplusplus
}
#endif
#endif
