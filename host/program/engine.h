// Finds LibTorch and the engine that was built for it, and opens both. The engine is the rest of the program: the
// shared library libtenon_engine-2.15.so needs LibTorch 2.15. An installation may have several engines:
//
//   PREFIX/bin/host
//   PREFIX/lib/tenon/engine-2.11/libtenon_engine-2.11.so, libtenon_cuda.so, plugins/
//   PREFIX/lib/tenon/engine-2.15/...
//
// This program does not link LibTorch, so that it can choose what LibTorch's constructors find, and can report what is
// missing.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/program/engine_entry.h"

namespace tenon::program {

struct LibTorch {
  std::filesystem::path folder;  // with lib/libtorch_cpu.so
  std::string version;           // "2.15.0+cu130"
};

struct Engine {
  std::filesystem::path file;
  LibTorch libtorch;
};

// The file of this program. Throws std::runtime_error if /proc is not mounted.
std::filesystem::path find_program_file();

// The installation that `program_file` belongs to: the folder above bin/, or the package tenon_host of the Python
// environment with this bin/. If there are several, the one that was installed last. Throws std::runtime_error if there
// is none.
std::filesystem::path find_prefix(const std::filesystem::path& program_file);

// Finds LibTorch: in `given` (the value of `setting`; empty: not set), in PREFIX/lib/tenon/torch, in the package
// torch next to the package tenon_host, or where a build tree was configured with it. Chooses the engine by the version
// in LibTorch's files. Throws std::runtime_error with what was found where, what fits and how to install it.
Engine find_engine(const std::filesystem::path& prefix, const std::string& given,
                   const std::string& setting = "TENON_LIBTORCH");

// The loader cannot load a file.
class LoadFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Load LibTorch, and the engine after it. Return the handles of libtorch_cpu.so and of the engine, which are never
// closed. `mode`: RTLD_GLOBAL, or RTLD_LOCAL in a program that has other libraries. Throw LoadFailure with the loader's
// message.
void* load_libtorch(const Engine& engine, int mode);
void* load_engine(const Engine& engine);

// Returns a function of the engine. Throws LoadFailure if there is none.
void* find_function(void* engine, const char* name, const std::filesystem::path& file);

// Both. The process must be ready: see process_start.h.
RunEngine* open_engine(const Engine& engine);

// Prints "2.11, 2.13 or 2.15".
std::string print_choices(const std::vector<std::string>& versions);

}  // namespace tenon::program
