// The entry point of libFuzzer (see https://llvm.org/docs/LibFuzzer.html). It runs the only target of the program.
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::fuzz::run_target(tenon::fuzz::list_targets().at(0), {data, size});
  return 0;
}
