// Where this Tenon is installed.
#pragma once

#include <filesystem>

namespace tenon::support {

// PREFIX/bin/host is the program, PREFIX/lib/tenon/plugins has the portable bundled plugins, and the engine's folder,
// PREFIX/lib/tenon/engine-2.15, has what needs one version of LibTorch: the engine, the CUDA library and plugins/.
struct Installation {
  std::filesystem::path prefix;
  std::filesystem::path engine_folder;
};

// Follows from the file with this code: the engine, or a program that is linked statically, such as bin/test_config.
// The engine folder of the latter is PREFIX/lib/tenon. Throws Error(system) if /proc is not mounted.
Installation find_installation();

}  // namespace tenon::support
