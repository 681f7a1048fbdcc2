// The engine behind libtenon_predictor: the functions of tenon/draft/predictor.h.
#include <c10/util/Exception.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include "framework/components/calls/component.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/predictor/engine_interface.h"
#include "host/predictor/log_scope.h"
#include "host/predictor/predictor.h"

struct tenon_predictor {
  tenon::predictor::LogTarget log;
  std::unique_ptr<tenon::predictor::Predictor> predictor = {};
};

namespace tenon::predictor {

namespace {

using support::ErrorKind;

thread_local std::string error_text;  // of the last function that failed on this thread

void take_log_line(support::LogLevel level, std::string_view message) {
  const LogTarget* const target = LogScope::current();
  if (target && target->log) target->log(target->context, static_cast<uint32_t>(level), components::to_tenon(message));
}

tenon_status to_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::configuration: return TENON_INVALID_ARGUMENT;
    case ErrorKind::data:
    case ErrorKind::checkpoint: return TENON_BAD_DATA;
    default: return TENON_FAILED;
  }
}

// Calls `body`. An exception becomes a status and a message.
template <class Body>
tenon_status guard(const Body& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (const support::Error& error) {
    error_text = error.what();
    return to_status(error.kind());
  } catch (const std::bad_alloc&) {
    error_text = "out of memory";
  } catch (const c10::Error& error) {
    error_text = error.what_without_backtrace();
  } catch (const std::exception& error) {
    error_text = error.what();
  } catch (...) {
    error_text = "an exception that is no std::exception";
  }
  return TENON_FAILED;
}

void require_size(const char* name, const void* given, uint64_t size, uint64_t least) {
  if (!given || size < least)
    throw support::Error(ErrorKind::configuration, "{} is null, or its size is {}; expected {}: set its member size",
                         name, given ? size : 0, least);
}

tenon_status open(const tenon_predictor_options* options, tenon_predictor** out) {
  return guard([&] {
    require_size("tenon_predictor_options", options, options ? options->size : 0,
                 TENON_SIZE_TO(tenon_predictor_options, log_context));
    if ((options->flags & ~uint32_t{TENON_PREDICTOR_ANY_PLUGIN}) != 0)
      throw support::Error(ErrorKind::configuration, "the flags are {}; expected TENON_PREDICTOR_ANY_PLUGIN or 0",
                           options->flags);
    ModelOptions model{components::to_string(options->model), {}, (options->flags & TENON_PREDICTOR_ANY_PLUGIN) != 0};
    for (uint64_t i = 0; i < options->plugin_count; ++i)
      model.plugins.emplace_back(components::to_string(options->plugins[i]));
    auto predictor = std::make_unique<tenon_predictor>(tenon_predictor{{options->log, options->log_context}});
    const LogScope scope(&predictor->log);
    predictor->predictor = std::make_unique<Predictor>(model, options->threads, options->concurrency);
    *out = predictor.release();
  });
}

void close(tenon_predictor* predictor) { delete predictor; }

const tenon_predictor_info* describe(const tenon_predictor* predictor) { return &predictor->predictor->info(); }

tenon_status run(tenon_predictor* predictor, const tenon_predictor_request* request, const tenon_prediction** out) {
  return guard([&] {
    require_size("tenon_predictor_request", request, request ? request->size : 0,
                 TENON_SIZE_TO(tenon_predictor_request, top_k));
    const LogScope scope(&predictor->log);
    *out = &predictor->predictor->run(*request).release()->base;
  });
}

void free_prediction(const tenon_prediction* prediction) {
  delete reinterpret_cast<const Prediction*>(prediction);  // its first member
}

const char* error() { return error_text.c_str(); }

}  // namespace

extern "C" [[gnu::visibility("default")]] const EngineFunctions* tenon_open_predictor_engine(
    const char* libtorch_version) {
  static constexpr EngineFunctions kFunctions{TENON_VERSION, open, close, describe, run, free_prediction, error};
  support::replace_log(take_log_line);
  components::set_libtorch_version(libtorch_version);
  return &kFunctions;
}

}  // namespace tenon::predictor
