/* A library with functions that use every type of the ABI. abidw and abidiff read its debug information.
 * witness_1_0.abi describes version 1.0. A later version appends its new structs here. */
#include <tenon/gradient.h>
#include <tenon/tenon.h>

#define WITNESS(type)                               \
  TENON_EXPORT void witness_##type(const type* it); \
  void witness_##type(const type* it) { (void)it; }

WITNESS(tenon_string)
WITNESS(tenon_value)
WITNESS(tenon_param)
WITNESS(tenon_tensor_info)
WITNESS(tenon_frame)
WITNESS(tenon_named_value)
WITNESS(tenon_host)
WITNESS(tenon_port)
WITNESS(tenon_component)
WITNESS(tenon_plugin)
WITNESS(tenon_offer)
WITNESS(tenon_reply)
WITNESS(tenon_declaration)
WITNESS(tenon_builder)
WITNESS(tenon_model)
WITNESS(tenon_field)
WITNESS(tenon_sample)
WITNESS(tenon_sink)
WITNESS(tenon_dataset)
WITNESS(tenon_loss_result)
WITNESS(tenon_loss)
WITNESS(tenon_state)
WITNESS(tenon_metric_value)
WITNESS(tenon_metric)
WITNESS(tenon_run)
WITNESS(tenon_requests)
WITNESS(tenon_callback)
WITNESS(tenon_function)
WITNESS(tenon_gradient)
WITNESS(tenon_dlpack)
WITNESS(tenon_saved_state)
WITNESS(tenon_sample_lengths)
WITNESS(tenon_sample_weights)
WITNESS(tenon_native_torch)

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  return tenon_answer(offer, reply, NULL);
}
