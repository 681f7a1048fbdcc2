// The part of the host's table that LibTorch implements.
#pragma once

#include <string>

namespace tenon::plugins {

// Puts handles, operators and the native extension into host_table(). To be called once, before a plugin is opened.
void install_libtorch();

// The LibTorch this host is built with, as native plugins state theirs: "2.11.0+cu130,cxx11abi=1".
std::string torch_build();

}  // namespace tenon::plugins
