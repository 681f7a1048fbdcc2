// Tests the host with another LibTorch in the loader's search path.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

TEST_CASE("another LibTorch in LD_LIBRARY_PATH is not loaded") {
  const fs::path folder = make_empty_folder("other_libtorch");
  for (const char* const name : {"libc10.so", "libtorch_cpu.so"})
    fs::copy_file(TENON_BINARY_DIR "/plugins/mlp.so", folder / name);
  require_success(run_host({"--version"}, "env LD_LIBRARY_PATH='" + folder.string() + "'"));
}
