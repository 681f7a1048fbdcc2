// The host's side of extensions and functions of the host table that need LibTorch.
#pragma once

#include <exception>
#include <string>

#include <c10/util/Exception.h>

#include <tenon/checkpointing.h>
#include <tenon/device_stream.h>
#include <tenon/dlpack.h>
#include <tenon/gradient.h>
#include <tenon/host.h>
#include <tenon/run_tensors.h>

#include "framework/components/calls/host_table.h"

namespace tenon::components {

const tenon_checkpointing& checkpointing_extension();  // segments of a model that backward recomputes
const tenon_device_stream& device_stream_extension();  // current devices and streams, and the memory of tensors
const tenon_dlpack& dlpack_extension();                // exchanges tensors with other libraries
const tenon_gradient& gradient_extension();            // functions of plugins as nodes of LibTorch's autograd
const tenon_run_tensors& run_tensors_extension();      // the trained tensors and statistics of them

// tenon_host.op and tenon_host.call: any ATen operator for plugins that do not link LibTorch.
tenon_status find_operator(tenon_string name, tenon_string overload, const tenon_op** out);
tenon_status call_operator(const tenon_frame* frame, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                           const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results,
                           uint64_t result_count);

// Returns the status of body(), or `failure` with the message "PLACE: REASON" if it throws.
template <class Body>
tenon_status catch_errors(const std::string& place, tenon_status failure, const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return fail(failure, place + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(failure, place + ": " + error.what());
  }
}

}  // namespace tenon::components
