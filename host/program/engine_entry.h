// The interface between the program `host` and its engine. Both are of the same build of Tenon.
#pragma once

namespace tenon::program {

struct EngineStart {
  const char* tenon_version;     // that of the program; the engine requires the same
  const char* libtorch_version;  // of the LibTorch that was loaded: "2.15.0+cu130"
  const char* wait_policy;       // the log line of process_start.h
  int argc;
  char** argv;
};

// Runs the command line and returns the exit code.
using RunEngine = int(const EngineStart& start);
inline constexpr const char* kRunEngineSymbol = "tenon_run_engine";

}  // namespace tenon::program
