// The program `host`: prepares the process, finds LibTorch, and runs the engine that was built for it.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "framework/support/files/standard_streams.h"
#include "host/program/engine.h"
#include "host/program/exit_codes.h"
#include "host/program/process_start.h"

int main(int argc, char** argv) {
  using namespace tenon::program;
  tenon::support::open_standard_streams();
  set_up_heap(environ);
  report_exceptions_of_libraries();
  std::string wait_policy;
  RunEngine* run = nullptr;
  Engine engine;
  try {
    const char* const given = std::getenv("TENON_LIBTORCH");
    engine = find_engine(find_prefix(find_program_file()), given ? given : "");
    const WaitPolicy policy;
    run = open_engine(engine);
    wait_policy = policy.description();
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory; if the address space of the process is limited, raise the limit (ulimit -v)\n",
               stderr);
    return kSystemFailed;
  } catch (const LoadFailure& failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return is_memory_limited() ? kSystemFailed : kNotFound;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return kNotFound;
  }
  return run({TENON_VERSION, engine.libtorch.version.c_str(), wait_policy.c_str(), argc, argv});
}
