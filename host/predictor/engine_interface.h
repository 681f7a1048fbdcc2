// The interface between libtenon_predictor and an engine. Both are of the same build of Tenon.
#pragma once

#include <tenon/draft/predictor.h>

namespace tenon::predictor {

// The functions of tenon/draft/predictor.h.
struct EngineFunctions {
  const char* tenon_version;
  decltype(&tenon_predictor_open) open;
  decltype(&tenon_predictor_close) close;
  decltype(&tenon_predictor_describe) describe;
  decltype(&tenon_predictor_run) run;
  decltype(&tenon_prediction_free) free;
  decltype(&tenon_predictor_error) error;
};

// Called once in a process, before the others. `libtorch_version`: of the LibTorch that was loaded: "2.15.0+cu130".
using OpenEngine = const EngineFunctions*(const char* libtorch_version);
inline constexpr const char* kOpenEngineSymbol = "tenon_open_predictor_engine";

}  // namespace tenon::predictor
