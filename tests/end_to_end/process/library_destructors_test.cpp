// Tests which destructors run when the process ends.
#include <doctest/doctest.h>

#include "framework/support/diagnostics/sanitizers.h"
#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

#if !TENON_IS_SANITIZED

namespace {

// Whether the dynamic linker calls the destructors of libraries.
bool calls_library_destructors(const std::string& variables) {
  const Outcome outcome = require_success(
      run_host({"--version"}, "env -u LD_PRELOAD -u CUDA_INJECTION64_PATH " + variables + " LD_DEBUG=files"));
  CHECK(outcome.output.starts_with("tenon "));
  CHECK(outcome.errors.find("calling init: ") != std::string::npos);
  return outcome.errors.find("calling fini: ") != std::string::npos;
}

}  // namespace

TEST_CASE("the process ends before the destructors of libraries, except for tools that need them") {
  CHECK_FALSE(calls_library_destructors(""));
  CHECK(calls_library_destructors("LD_PRELOAD=libm.so.6"));
  CHECK(calls_library_destructors("CUDA_INJECTION64_PATH=/none.so"));
}

#endif

TEST_CASE(
    "at the end of the process, static objects of plugins are destroyed and their functions for atexit() called") {
  const fs::path output = make_empty_folder("ended");
  run_host({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--plugin-dir",
            TENON_BINARY_DIR "/tests/fixtures/plugins/interrupting", "--set", "callback=[{use=\"interrupting\"}]",
            "--set", "run.output_dir=\"" + output.string() + "\""},
           "env --default-signal=INT");
  CHECK(fs::exists(output.parent_path() / "static_object_destroyed"));
  CHECK(fs::exists(output.parent_path() / "function_of_atexit_called"));
}
