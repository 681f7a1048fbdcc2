// The functions of the host table that LibTorch implements.
#pragma once

#include <string>

#include "framework/components/calls/host_table.h"

namespace tenon::components {

// Handles, operators and the native extension.
TensorFunctions libtorch_functions();

// Installs handles, operators and the native extension in host_table(). Call it once, before a plugin is opened.
void install_libtorch();

// The LibTorch of this process, in the form that native plugins declare: "2.11.0+cu130,cxx11abi=1".
std::string torch_build();

// `version`: the full version that the files of this LibTorch have, such as "2.11.1+cpu". Without this call it is the
// version that the host was compiled with. Call it first.
void set_libtorch_version(const std::string& version);

}  // namespace tenon::components
