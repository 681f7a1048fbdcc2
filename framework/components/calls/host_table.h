// The one tenon_host of the process.
#pragma once

#include <string>
#include <string_view>

#include <tenon/host.h>

namespace tenon::components {

// The functions of the table that LibTorch implements. In a host without LibTorch (the torch-free tests) they return
// TENON_UNSUPPORTED.
struct TensorFunctions {
  decltype(tenon_host::retain) retain;
  decltype(tenon_host::release) release;
  decltype(tenon_host::tensor_info) tensor_info;
  decltype(tenon_host::tensor_data) tensor_data;
  decltype(tenon_host::op) op;
  decltype(tenon_host::call) call;
  decltype(tenon_host::make_tensor) make_tensor;
  decltype(tenon_host::append) append;
  const void* (*get_extension)(std::string_view id);  // null for an unknown id
};

const tenon_host& host_table();

// host_table().fail, for functions of the host.
tenon_status fail(tenon_status status, const std::string& text);

// Call it once, before the first plugin is opened: see tensor_functions.h.
void install_tensor_functions(const TensorFunctions& functions);

}  // namespace tenon::components
