// tenon_host.op and tenon_host.call: any ATen operator for plugins that do not link LibTorch.
#pragma once

#include <tenon/host.h>

namespace tenon::components {

tenon_status find_operator(tenon_string name, tenon_string overload, const tenon_op** out);

tenon_status call_operator(const tenon_frame* frame, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                           const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results,
                           uint64_t result_count);

}  // namespace tenon::components
