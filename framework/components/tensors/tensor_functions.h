// The functions of the host table that LibTorch implements.
#pragma once

#include <string>

#include "framework/components/calls/host_table.h"

namespace tenon::components {

// Handles, operators and the native extension.
TensorFunctions libtorch_functions();

// Installs handles, operators and the native extension in host_table(). Call it once, before a plugin is opened.
void install_libtorch();

// The LibTorch of this host, in the form that native plugins declare: "2.11.0+cu130,cxx11abi=1".
std::string torch_build();

}  // namespace tenon::components
