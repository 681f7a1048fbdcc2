// libtenon_predictor: finds LibTorch and the engine that was built for it, and calls the engine. It links neither.
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "host/predictor/engine_interface.h"
#include "host/predictor/own_functions.h"
#include "host/program/engine.h"

namespace fs = std::filesystem;

namespace {

using tenon::predictor::EngineFunctions;
using tenon::program::Engine;

constexpr const char* kLibTorchFile = "libtorch_cpu.so";

std::mutex mutex;
fs::path loaded_libtorch;                    // the folder; set with the functions
const EngineFunctions* functions = nullptr;  // null: not loaded
thread_local std::string error_text;         // of this library
thread_local bool has_own_error = false;     // the last function that failed is of this library

// A message for the program, with a status.
struct Refusal : std::runtime_error {
  Refusal(tenon_status status, const std::string& text) : runtime_error(text), status(status) {}
  tenon_status status;
};

fs::path resolve(const fs::path& path) {
  std::error_code ignored;
  const fs::path resolved = fs::canonical(path, ignored);
  return ignored ? path : resolved;
}

// The file of this library.
fs::path find_library_file() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&find_library_file), &found) == 0 || !found.dli_fname)
    throw Refusal(TENON_FAILED, "libtenon_predictor: the loader does not know its file");
  std::error_code ignored;  // no current folder: the path then stays as it is
  const fs::path file = fs::absolute(found.dli_fname, ignored);
  return resolve(ignored ? found.dli_fname : file);
}

// The folder of the LibTorch that this process has loaded, without lib/libtorch_cpu.so; empty: none.
fs::path find_loaded_libtorch() {
  std::string file;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        const char* const name = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
        if (!name || std::strcmp(name + 1, kLibTorchFile) != 0) return 0;
        *static_cast<std::string*>(context) = info->dlpi_name;
        return 1;
      },
      &file);
  return file.empty() ? fs::path() : resolve(file).parent_path().parent_path();
}

std::string to_text(tenon_string text) { return text.data ? std::string(text.data, text.size) : std::string(); }

// Throws Refusal.
void load(const std::string& libtorch) {
  const fs::path loaded = find_loaded_libtorch();
  Engine engine;
  try {
    const fs::path prefix = tenon::program::find_prefix(find_library_file());
    engine = tenon::program::find_engine(prefix, libtorch.empty() ? loaded.string() : libtorch,
                                         "tenon_predictor_options.libtorch");
  } catch (const std::runtime_error& error) {
    throw Refusal(TENON_NOT_FOUND, error.what());
  }
  if (!loaded.empty() && resolve(engine.libtorch.folder) != loaded)
    throw Refusal(TENON_NOT_FOUND,
                  "this process has loaded the LibTorch in " + loaded.string() + "; expected the one in " +
                      engine.libtorch.folder.string() +
                      ", because a process cannot have two: open the predictor first, or name the one that is loaded");
  try {
    void* const libtorch_cpu = tenon::program::load_libtorch(engine, RTLD_LOCAL);
    if (loaded.empty()) tenon::predictor::use_own_functions(libtorch_cpu);
    void* const library = tenon::program::load_engine(engine);
    auto* const open = reinterpret_cast<tenon::predictor::OpenEngine*>(
        tenon::program::find_function(library, tenon::predictor::kOpenEngineSymbol, engine.file));
    const EngineFunctions* const found = open(engine.libtorch.version.c_str());
    if (std::strcmp(found->tenon_version, TENON_VERSION) != 0)
      throw Refusal(TENON_FAILED, engine.file.string() + ": belongs to Tenon " + found->tenon_version +
                                      ", and libtenon_predictor to " TENON_VERSION "; install Tenon again");
    loaded_libtorch = resolve(engine.libtorch.folder);
    functions = found;
  } catch (const tenon::program::LoadFailure& failure) {
    throw Refusal(TENON_NOT_FOUND, failure.what());
  }
}

const EngineFunctions& require_engine(const tenon_predictor_options* options) {
  const bool has_libtorch = options && options->size >= TENON_SIZE_TO(tenon_predictor_options, libtorch);
  const std::string libtorch = has_libtorch ? to_text(options->libtorch) : std::string();
  const std::lock_guard lock(mutex);
  if (!functions) {
    load(libtorch);
  } else if (!libtorch.empty()) {
    const fs::path wanted = resolve(libtorch);
    if (wanted != loaded_libtorch && resolve(wanted / "torch") != loaded_libtorch &&
        resolve(wanted / "libtorch") != loaded_libtorch)
      throw Refusal(TENON_NOT_FOUND, "the predictors of this process use the LibTorch in " + loaded_libtorch.string() +
                                         ", and another one is named: " + libtorch + "; expected the same");
  }
  return *functions;
}

tenon_status fail(tenon_status status, const char* text) {
  has_own_error = true;
  try {
    error_text = text;
  } catch (const std::bad_alloc&) {
    error_text.clear();
  }
  return status;
}

}  // namespace

#define TENON_FUNCTION extern "C" __attribute__((visibility("default")))

TENON_FUNCTION tenon_status tenon_predictor_open(const tenon_predictor_options* options, tenon_predictor** out) try {
  if (!options || !out) return fail(TENON_INVALID_ARGUMENT, "the options or the result is null");
  const EngineFunctions& engine = require_engine(options);
  has_own_error = false;
  return engine.open(options, out);
} catch (const Refusal& refusal) {
  return fail(refusal.status, refusal.what());
} catch (const std::exception& error) {
  return fail(TENON_FAILED, error.what());
}

TENON_FUNCTION void tenon_predictor_close(tenon_predictor* predictor) {
  if (predictor) functions->close(predictor);
}

TENON_FUNCTION const tenon_predictor_info* tenon_predictor_describe(const tenon_predictor* predictor) {
  return functions->describe(predictor);
}

TENON_FUNCTION tenon_status tenon_predictor_run(tenon_predictor* predictor, const tenon_predictor_request* request,
                                                const tenon_prediction** out) {
  if (!predictor || !out) return fail(TENON_INVALID_ARGUMENT, "the predictor or the result is null");
  has_own_error = false;
  return functions->run(predictor, request, out);
}

TENON_FUNCTION void tenon_prediction_free(const tenon_prediction* prediction) {
  if (prediction) functions->free(prediction);
}

TENON_FUNCTION const char* tenon_predictor_error() {
  return has_own_error || !functions ? error_text.c_str() : functions->error();
}
