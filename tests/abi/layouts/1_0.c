/* Version 1.0 of the plugin ABI as binaries know it: the offset and type of every field, and the value of every
 * constant. Compiled as C and, through 1_0.cpp, as C++.
 *
 * A later version does not change this file. Its fields and constants go into a separate file like this one. A field
 * may be appended to any SIZED struct, so the total size of these structs is not checked. */
#include <tenon/gradient.h>
#include <tenon/tenon.h>

#ifdef __cplusplus
#include <type_traits>
#define IS(object, ...) std::is_same_v<std::remove_reference_t<decltype((object))>, __VA_ARGS__>
#define ALIGNMENT(type) alignof(type)
#define TEXT(macro, text) static_assert(__builtin_strcmp(macro, text) == 0, #macro " is \"" text "\"")
#else
/* C cannot compare strings at compile time; C++ checks them for both. */
#define IS(object, ...) _Generic((object), __VA_ARGS__ : 1, default : 0)
#define ALIGNMENT(type) _Alignof(type)
#define TEXT(macro, text) _Static_assert(sizeof(macro) == sizeof(text), #macro " is \"" text "\"")
#endif

#define SAME(constant, value) TENON_STATIC_ASSERT((constant) == (value), #constant " is " #value)

#define FIELD(type, field, offset, ...)                                                       \
  TENON_STATIC_ASSERT(offsetof(type, field) == (offset), #type "." #field " is at " #offset); \
  TENON_STATIC_ASSERT(IS(((type*)0)->field, __VA_ARGS__), #type "." #field " is of the type " #__VA_ARGS__)

/* A struct that can grow, and its size in bytes in version 1.0. */
#define SIZED(type, bytes)                                                              \
  TENON_STATIC_ASSERT(ALIGNMENT(type) == 8, #type " is aligned to 8 bytes");            \
  TENON_STATIC_ASSERT(sizeof(type) >= (bytes), #type " has at least " #bytes " bytes"); \
  FIELD(type, size, 0, uint64_t)

#define FROZEN(type, bytes)                                                  \
  TENON_STATIC_ASSERT(ALIGNMENT(type) == 8, #type " is aligned to 8 bytes"); \
  TENON_STATIC_ASSERT(sizeof(type) == (bytes), #type " has " #bytes " bytes")

#define FUNCTION(name, ...) TENON_STATIC_ASSERT(IS(&name, __VA_ARGS__), #name " is of the type " #__VA_ARGS__)
#define ALIAS(name, ...) TENON_STATIC_ASSERT(IS(*(name*)0, __VA_ARGS__), #name " is " #__VA_ARGS__)

/* ---- abi.h: versions, statuses, strings, dtypes, values ---------------------------------------------------------- */

SAME(TENON_MAKE_ABI(1, 0), 0x10000);
SAME(TENON_MAKE_ABI(2, 3), 0x20003);
SAME(TENON_ABI_CURRENT >> 16, 1);
SAME(TENON_ABI_OLDEST, TENON_MAKE_ABI(1, 0));
SAME(TENON_TARGET_ABI, TENON_ABI_OLDEST);

ALIAS(tenon_status, int32_t);

SAME(TENON_OK, 0);
SAME(TENON_FAILED, 1);
SAME(TENON_INVALID_ARGUMENT, 2);
SAME(TENON_NOT_FOUND, 3);
SAME(TENON_BAD_DATA, 4);
SAME(TENON_UNSUPPORTED, 5);
SAME(TENON_WRONG_THREAD, 6);
SAME(TENON_DTYPE_NONE, 0);
SAME(TENON_UINT8, 1);
SAME(TENON_INT8, 2);
SAME(TENON_INT16, 3);
SAME(TENON_INT32, 4);
SAME(TENON_INT64, 5);
SAME(TENON_FLOAT16, 6);
SAME(TENON_BFLOAT16, 7);
SAME(TENON_FLOAT32, 8);
SAME(TENON_FLOAT64, 9);
SAME(TENON_BOOL, 10);
SAME(TENON_COMPLEX64, 11);
SAME(TENON_COMPLEX128, 12);
SAME(TENON_VALUE_NONE, 0);
SAME(TENON_VALUE_BOOL, 1);
SAME(TENON_VALUE_INT, 2);
SAME(TENON_VALUE_FLOAT, 3);
SAME(TENON_VALUE_STRING, 4);
SAME(TENON_VALUE_TENSOR, 5);
SAME(TENON_VALUE_DTYPE, 6);
SAME(TENON_VALUE_INTS, 7);
SAME(TENON_VALUE_FLOATS, 8);
SAME(TENON_VALUE_STRINGS, 9);
SAME(TENON_VALUE_TENSORS, 10);
SAME(TENON_VALUE_BOOLS, 11);

SAME(TENON_DTYPE_BIT(TENON_COMPLEX128), 0x1000);
SAME(TENON_ANY_DTYPE, 0);
SAME(TENON_ANY_FLOAT, 0x3C0);
SAME(TENON_ANY_INTEGER, 0x3E);

FROZEN(tenon_string, 16);
FIELD(tenon_string, data, 0, const char*);
FIELD(tenon_string, size, 8, uint64_t);

FROZEN(tenon_value, 24);
FIELD(tenon_value, kind, 0, uint32_t);
FIELD(tenon_value, reserved, 4, uint32_t);
FIELD(tenon_value, as.i, 8, int64_t);
FIELD(tenon_value, as.f, 8, double);
FIELD(tenon_value, as.p, 8, const void*);
FIELD(tenon_value, n, 16, uint64_t);

SAME(TENON_SIZE_TO(tenon_value, n), 24);
FUNCTION(tenon_make_string, tenon_string (*)(const char*, uint64_t));
FUNCTION(tenon_none, tenon_value (*)(void));
FUNCTION(tenon_bool, tenon_value (*)(int));
FUNCTION(tenon_int, tenon_value (*)(int64_t));
FUNCTION(tenon_float, tenon_value (*)(double));
FUNCTION(tenon_dtype, tenon_value (*)(int64_t));
FUNCTION(tenon_tensor_value, tenon_value (*)(const tenon_tensor*));
FUNCTION(tenon_list_value, tenon_value (*)(uint32_t, const void*, uint64_t));
FUNCTION(tenon_text, tenon_value (*)(const char*, uint64_t));
FUNCTION(tenon_ints, tenon_value (*)(const int64_t*, uint64_t));
FUNCTION(tenon_tensors, tenon_value (*)(tenon_tensor* const*, uint64_t));

/* ---- parameters.h: schemas --------------------------------------------------------------------------------------- */

SAME(TENON_PARAM_BOOL, 1);
SAME(TENON_PARAM_INT, 2);
SAME(TENON_PARAM_FLOAT, 3);
SAME(TENON_PARAM_STRING, 4);
SAME(TENON_PARAM_PATH, 5);
SAME(TENON_PARAM_INTS, 6);
SAME(TENON_PARAM_FLOATS, 7);
SAME(TENON_PARAM_STRINGS, 8);

SIZED(tenon_param, 96);
FIELD(tenon_param, name, 8, tenon_string);
FIELD(tenon_param, type, 24, uint32_t);
FIELD(tenon_param, reserved, 28, uint32_t);
FIELD(tenon_param, default_value, 32, tenon_string);
FIELD(tenon_param, range, 48, tenon_string);
FIELD(tenon_param, choices, 64, const tenon_string*);
FIELD(tenon_param, choice_count, 72, uint64_t);
FIELD(tenon_param, doc, 80, tenon_string);

/* ---- tensor.h: tensors ------------------------------------------------------------------------------------------- */

SAME(TENON_DEVICE_CPU, 0);
SAME(TENON_DEVICE_CUDA, 1);
SAME(TENON_DEVICE_OTHER, 255);

SIZED(tenon_tensor_info, 48);
FIELD(tenon_tensor_info, dtype, 8, int32_t);
FIELD(tenon_tensor_info, device_type, 12, int32_t);
FIELD(tenon_tensor_info, device_index, 16, int32_t);
FIELD(tenon_tensor_info, ndim, 20, uint32_t);
FIELD(tenon_tensor_info, shape, 24, const int64_t*);
FIELD(tenon_tensor_info, strides, 32, const int64_t*);
FIELD(tenon_tensor_info, numel, 40, int64_t);

/* ---- host.h: the host's functions -------------------------------------------------------------------------------- */

SAME(TENON_LOG_DEBUG, 1);
SAME(TENON_LOG_INFO, 2);
SAME(TENON_LOG_WARNING, 3);

SIZED(tenon_frame, 64);
FIELD(tenon_frame, tensors, 8, tenon_tensor* const*);
FIELD(tenon_frame, tensor_count, 16, uint64_t);
FIELD(tenon_frame, training, 24, uint32_t);
FIELD(tenon_frame, rank, 28, uint32_t);
FIELD(tenon_frame, world_size, 32, uint32_t);
FIELD(tenon_frame, reserved, 36, uint32_t);
FIELD(tenon_frame, step, 40, int64_t);
FIELD(tenon_frame, epoch, 48, int64_t);
FIELD(tenon_frame, seed, 56, uint64_t);

FROZEN(tenon_named_value, 40);
FIELD(tenon_named_value, name, 0, tenon_string);
FIELD(tenon_named_value, value, 16, tenon_value);

SIZED(tenon_host, 112);
FIELD(tenon_host, abi, 8, uint32_t);
FIELD(tenon_host, reserved, 12, uint32_t);
FIELD(tenon_host, fail, 16, tenon_status (*)(tenon_status, tenon_string));
FIELD(tenon_host, log, 24, void (*)(uint32_t, tenon_string));
FIELD(tenon_host, param, 32, tenon_status (*)(const tenon_params*, tenon_string, tenon_value*));
FIELD(tenon_host, retain, 40, void (*)(tenon_tensor*));
FIELD(tenon_host, release, 48, void (*)(tenon_tensor*));
FIELD(tenon_host, tensor_info, 56, tenon_status (*)(const tenon_tensor*, tenon_tensor_info*));
FIELD(tenon_host, tensor_data, 64, tenon_status (*)(tenon_tensor*, void**));
FIELD(tenon_host, op, 72, tenon_status (*)(tenon_string, tenon_string, const tenon_op**));
FIELD(tenon_host, call, 80,
      tenon_status (*)(const tenon_frame*, const tenon_op*, const tenon_value*, uint64_t, const tenon_named_value*,
                       uint64_t, tenon_value*, uint64_t));
FIELD(tenon_host, get_extension, 88, const void* (*)(tenon_string));
FIELD(tenon_host, make_tensor, 96,
      tenon_status (*)(const tenon_frame*, int32_t, const int64_t*, uint32_t, const void*, tenon_tensor**));
FIELD(tenon_host, append, 104, tenon_status (*)(const tenon_frame*, uint64_t, tenon_tensor*));

/* ---- port.h: ports ----------------------------------------------------------------------------------------------- */

SAME(TENON_INPUT, 0);
SAME(TENON_OUTPUT, 1);

SIZED(tenon_port, 72);
FIELD(tenon_port, direction, 8, uint32_t);
FIELD(tenon_port, reserved, 12, uint32_t);
FIELD(tenon_port, name, 16, tenon_string);
FIELD(tenon_port, shape, 32, tenon_string);
FIELD(tenon_port, dtypes, 48, uint64_t);
FIELD(tenon_port, doc, 56, tenon_string);

/* ---- plugin.h: the entry point and the descriptors --------------------------------------------------------------- */

SAME(TENON_MODEL, 1);
SAME(TENON_DATASET, 2);
SAME(TENON_LOSS, 3);
SAME(TENON_METRIC, 4);
SAME(TENON_CALLBACK, 5);

SIZED(tenon_component, 80);
FIELD(tenon_component, kind, 8, uint32_t);
FIELD(tenon_component, reserved, 12, uint32_t);
FIELD(tenon_component, id, 16, tenon_string);
FIELD(tenon_component, doc, 32, tenon_string);
FIELD(tenon_component, params, 48, const tenon_param* const*);
FIELD(tenon_component, param_count, 56, uint64_t);
FIELD(tenon_component, table, 64, const void*);
FIELD(tenon_component, get_extension, 72, const void* (*)(tenon_string));

SIZED(tenon_plugin, 120);
FIELD(tenon_plugin, id, 8, tenon_string);
FIELD(tenon_plugin, version, 24, tenon_string);
FIELD(tenon_plugin, license, 40, tenon_string);
FIELD(tenon_plugin, doc, 56, tenon_string);
FIELD(tenon_plugin, components, 72, const tenon_component* const*);
FIELD(tenon_plugin, component_count, 80, uint64_t);
FIELD(tenon_plugin, torch_build, 88, tenon_string);
FIELD(tenon_plugin, operators, 104, const tenon_string*);
FIELD(tenon_plugin, operator_count, 112, uint64_t);

FROZEN(tenon_offer, 32);
FIELD(tenon_offer, abi_min, 0, uint32_t);
FIELD(tenon_offer, abi_max, 4, uint32_t);
FIELD(tenon_offer, host, 8, const tenon_host*);
FIELD(tenon_offer, host_version, 16, tenon_string);

FROZEN(tenon_reply, 16);
FIELD(tenon_reply, abi_min, 0, uint32_t);
FIELD(tenon_reply, abi_max, 4, uint32_t);
FIELD(tenon_reply, plugin, 8, const tenon_plugin*);

TEXT(TENON_ENTRY_SYMBOL, "tenon_plugin_open");
ALIAS(tenon_plugin_open_function, tenon_status (*)(const tenon_offer*, tenon_reply*));
FUNCTION(tenon_plugin_open, tenon_plugin_open_function);
FUNCTION(tenon_answer, tenon_status (*)(const tenon_offer*, tenon_reply*, const tenon_plugin*));

/* ---- model.h: models --------------------------------------------------------------------------------------------- */

SAME(TENON_INIT_CONSTANT, 0);
SAME(TENON_INIT_UNIFORM, 1);
SAME(TENON_INIT_NORMAL, 2);
SAME(TENON_INIT_KAIMING_UNIFORM, 3);
SAME(TENON_INIT_KAIMING_NORMAL, 4);
SAME(TENON_INIT_XAVIER_UNIFORM, 5);
SAME(TENON_INIT_XAVIER_NORMAL, 6);
SAME(TENON_TRAINABLE, 1u);

SIZED(tenon_declaration, 64);
FIELD(tenon_declaration, name, 8, tenon_string);
FIELD(tenon_declaration, shape, 24, const int64_t*);
FIELD(tenon_declaration, ndim, 32, uint32_t);
FIELD(tenon_declaration, dtype, 36, int32_t);
FIELD(tenon_declaration, flags, 40, uint32_t);
FIELD(tenon_declaration, init, 44, uint32_t);
FIELD(tenon_declaration, a, 48, double);
FIELD(tenon_declaration, b, 56, double);

SIZED(tenon_builder, 32);
FIELD(tenon_builder, context, 8, void*);
FIELD(tenon_builder, declare, 16, tenon_status (*)(const tenon_builder*, const tenon_declaration*, uint64_t*));
FIELD(tenon_builder, adopt, 24,
      tenon_status (*)(const tenon_builder*, tenon_string, tenon_tensor*, uint32_t, uint64_t*));

SIZED(tenon_model, 48);
FIELD(tenon_model, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_model, destroy, 16, void (*)(void*));
FIELD(tenon_model, ports, 24, tenon_status (*)(void*, const tenon_port* const**, uint64_t*));
FIELD(tenon_model, build, 32, tenon_status (*)(void*, const tenon_builder*));
FIELD(tenon_model, forward, 40,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor**, uint64_t));

/* ---- dataset.h: datasets ----------------------------------------------------------------------------------------- */

SIZED(tenon_field, 64);
FIELD(tenon_field, name, 8, tenon_string);
FIELD(tenon_field, dtype, 24, int32_t);
FIELD(tenon_field, ndim, 28, uint32_t);
FIELD(tenon_field, shape, 32, const int64_t*);
FIELD(tenon_field, doc, 40, tenon_string);
FIELD(tenon_field, padding, 56, double);

SIZED(tenon_sample, 32);
FIELD(tenon_sample, index, 8, int64_t);
FIELD(tenon_sample, epoch, 16, int64_t);
FIELD(tenon_sample, seed, 24, uint64_t);

SIZED(tenon_sink, 24);
FIELD(tenon_sink, context, 8, void*);
FIELD(tenon_sink, slot, 16, tenon_status (*)(const tenon_sink*, uint64_t, const int64_t*, uint32_t, void**));

SIZED(tenon_dataset, 72);
FIELD(tenon_dataset, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_dataset, destroy, 16, void (*)(void*));
FIELD(tenon_dataset, length, 24, tenon_status (*)(void*, int64_t*));
FIELD(tenon_dataset, fields, 32, tenon_status (*)(void*, const tenon_field* const**, uint64_t*));
FIELD(tenon_dataset, open_worker, 40, tenon_status (*)(void*, uint64_t, uint64_t, void**));
FIELD(tenon_dataset, close_worker, 48, void (*)(void*, void*));
FIELD(tenon_dataset, get, 56, tenon_status (*)(void*, void*, const tenon_sample*, const tenon_sink*));
FIELD(tenon_dataset, fingerprint, 64, tenon_status (*)(void*, uint64_t*));

/* ---- loss.h: losses ---------------------------------------------------------------------------------------------- */

SIZED(tenon_loss_result, 48);
FIELD(tenon_loss_result, loss, 8, tenon_tensor*);
FIELD(tenon_loss_result, weight, 16, double);
FIELD(tenon_loss_result, weight_tensor, 24, tenon_tensor*);
FIELD(tenon_loss_result, parts, 32, tenon_tensor**);
FIELD(tenon_loss_result, part_count, 40, uint64_t);

SIZED(tenon_loss, 48);
FIELD(tenon_loss, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_loss, destroy, 16, void (*)(void*));
FIELD(tenon_loss, ports, 24, tenon_status (*)(void*, const tenon_port* const**, uint64_t*));
FIELD(tenon_loss, forward, 32,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_loss_result*));
FIELD(tenon_loss, parts, 40, tenon_status (*)(void*, const tenon_string**, uint64_t*));

/* ---- metric.h: metrics ------------------------------------------------------------------------------------------- */

SAME(TENON_REDUCE_SUM, 1);
SAME(TENON_REDUCE_MAX, 2);
SAME(TENON_REDUCE_MIN, 3);
SAME(TENON_REDUCE_CONCATENATE, 4);

SIZED(tenon_state, 56);
FIELD(tenon_state, name, 8, tenon_string);
FIELD(tenon_state, shape, 24, const int64_t*);
FIELD(tenon_state, ndim, 32, uint32_t);
FIELD(tenon_state, dtype, 36, int32_t);
FIELD(tenon_state, reduction, 40, uint32_t);
FIELD(tenon_state, reserved, 44, uint32_t);
FIELD(tenon_state, initial, 48, double);

SIZED(tenon_metric_value, 48);
FIELD(tenon_metric_value, name, 8, tenon_string);
FIELD(tenon_metric_value, direction, 24, int32_t);
FIELD(tenon_metric_value, reserved, 28, uint32_t);
FIELD(tenon_metric_value, doc, 32, tenon_string);

SIZED(tenon_metric, 64);
FIELD(tenon_metric, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_metric, destroy, 16, void (*)(void*));
FIELD(tenon_metric, ports, 24, tenon_status (*)(void*, const tenon_port* const**, uint64_t*));
FIELD(tenon_metric, states, 32, tenon_status (*)(void*, const tenon_state* const**, uint64_t*));
FIELD(tenon_metric, values, 40, tenon_status (*)(void*, const tenon_metric_value* const**, uint64_t*));
FIELD(tenon_metric, update, 48, tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t));
FIELD(tenon_metric, compute, 56, tenon_status (*)(void*, const tenon_frame*, double*, uint64_t));

/* ---- callback.h: events and callbacks ---------------------------------------------------------------------------- */

SAME(TENON_RUN_SETUP, 0);
SAME(TENON_RUN_START, 1);
SAME(TENON_CHECKPOINT_LOADED, 2);
SAME(TENON_EPOCH_START, 3);
SAME(TENON_BATCH_FETCHED, 4);
SAME(TENON_STEP_START, 5);
SAME(TENON_FORWARD_END, 6);
SAME(TENON_LOSS_END, 7);
SAME(TENON_BACKWARD_END, 8);
SAME(TENON_GRADS_READY, 9);
SAME(TENON_OPTIMIZER_BEFORE, 10);
SAME(TENON_OPTIMIZER_AFTER, 11);
SAME(TENON_STEP_END, 12);
SAME(TENON_VALIDATION_START, 13);
SAME(TENON_VALIDATION_BATCH_END, 14);
SAME(TENON_VALIDATION_END, 15);
SAME(TENON_LOG, 16);
SAME(TENON_CHECKPOINT_BEFORE, 17);
SAME(TENON_CHECKPOINT_AFTER, 18);
SAME(TENON_STOP_REQUESTED, 19);
SAME(TENON_EPOCH_END, 20);
SAME(TENON_RUN_END, 21);
SAME(TENON_RUN_EXCEPTION, 22);
SAME(TENON_RUN_TEARDOWN, 23);
SAME(TENON_REQUEST_STOP, 1u);
SAME(TENON_REQUEST_SAVE, 2u);
SAME(TENON_REQUEST_EVALUATE, 4u);
SAME(TENON_REQUEST_LOG, 8u);

SAME(TENON_EVENT_COUNT >= 24, 1); /* it grows with new events */
SAME(TENON_EVENT_BIT(TENON_RUN_TEARDOWN), 0x800000);

SIZED(tenon_run, 160);
FIELD(tenon_run, context, 8, void*);
FIELD(tenon_run, epoch, 16, int64_t);
FIELD(tenon_run, step, 24, int64_t);
FIELD(tenon_run, total_steps, 32, int64_t);
FIELD(tenon_run, steps_per_epoch, 40, int64_t);
FIELD(tenon_run, time_s, 48, double);
FIELD(tenon_run, learning_rate, 56, double);
FIELD(tenon_run, rank, 64, uint32_t);
FIELD(tenon_run, world_size, 68, uint32_t);
FIELD(tenon_run, folder, 72, tenon_string);
FIELD(tenon_run, validation, 88, tenon_string);
FIELD(tenon_run, validation_batch, 104, int64_t);
FIELD(tenon_run, validation_batches, 112, int64_t);
FIELD(tenon_run, error, 120, tenon_string);
FIELD(tenon_run, metric, 136, tenon_status (*)(const tenon_run*, tenon_string, double*));
FIELD(tenon_run, log_scalar, 144, tenon_status (*)(const tenon_run*, tenon_string, double));
FIELD(tenon_run, step_loss, 152, tenon_status (*)(const tenon_run*, uint32_t, double*, int64_t*));

SIZED(tenon_requests, 32);
FIELD(tenon_requests, flags, 8, uint32_t);
FIELD(tenon_requests, reserved, 12, uint32_t);
FIELD(tenon_requests, reason, 16, tenon_string);

SIZED(tenon_callback, 40);
FIELD(tenon_callback, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_callback, destroy, 16, void (*)(void*));
FIELD(tenon_callback, subscribe, 24, tenon_status (*)(void*, uint64_t*, int32_t*));
FIELD(tenon_callback, on_event, 32, tenon_status (*)(void*, uint32_t, const tenon_run*, tenon_requests*));

/* ---- gradient.h: extension: custom gradients --------------------------------------------------------------------- */

TEXT(TENON_GRADIENT, "tenon.gradient/1");

SIZED(tenon_function, 24);
FIELD(tenon_function, forward, 8,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor**, uint64_t,
                       tenon_tensor**, uint64_t));
FIELD(tenon_function, backward, 16,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor* const*, uint64_t,
                       tenon_tensor**, uint64_t));

SIZED(tenon_gradient, 16);
FIELD(tenon_gradient, apply, 8,
      tenon_status (*)(const tenon_frame*, const tenon_function*, void*, tenon_tensor* const*, uint64_t, tenon_tensor**,
                       uint64_t, uint64_t));

/* ---- dlpack.h: extension: tensor exchange ------------------------------------------------------------------------ */

TEXT(TENON_DLPACK, "tenon.dlpack/1");

SIZED(tenon_dlpack, 24);
FIELD(tenon_dlpack, give, 8, tenon_status (*)(tenon_tensor*, void**));
FIELD(tenon_dlpack, take, 16, tenon_status (*)(const tenon_frame*, void*, tenon_tensor**));

/* ---- saved_state.h: extension: state of components --------------------------------------------------------------- */

TEXT(TENON_SAVED_STATE, "tenon.saved-state/1");

SIZED(tenon_saved_state, 24);
FIELD(tenon_saved_state, save, 8, tenon_status (*)(void*, tenon_string*));
FIELD(tenon_saved_state, load, 16, tenon_status (*)(void*, tenon_string));

/* ---- native_torch.h: extension: plugins that link LibTorch ------------------------------------------------------- */

TEXT(TENON_NATIVE_TORCH, "tenon.native-torch/1");

SIZED(tenon_native_torch, 32);
FIELD(tenon_native_torch, wrap, 8, tenon_tensor* (*)(const void*));
FIELD(tenon_native_torch, unwrap, 16, void (*)(const tenon_tensor*, void*));
FIELD(tenon_native_torch, add_to_frame, 24, void (*)(const tenon_frame*, tenon_tensor*));
