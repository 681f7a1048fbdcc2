// An engine without LibTorch. Its model adds the elements of a sample.
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>

#include "host/predictor/engine_interface.h"
#include "host/predictor/worker_threads.h"

struct tenon_predictor {
  tenon_predictor_info info;
  std::unique_ptr<tenon::predictor::WorkerThreads> threads;
};

namespace {

thread_local std::string error_text;
thread_local size_t opened = 0;

tenon_status fail(tenon_status status, const std::string& text) {
  error_text = text;
  return status;
}

struct FakePrediction {
  tenon_prediction base;
  int64_t sum;
};

tenon_status open(const tenon_predictor_options* options, tenon_predictor** out) {
  const std::string model(options->model.data, options->model.size);
  if (model != "sum") return fail(TENON_BAD_DATA, model + ": is no model");
  auto predictor = std::make_unique<tenon_predictor>();
  predictor->info = {};
  predictor->info.size = sizeof(tenon_predictor_info);
  predictor->info.concurrency = options->concurrency;
  predictor->threads = std::make_unique<tenon::predictor::WorkerThreads>(options->concurrency,
                                                                         [](size_t number) { opened = number + 1; });
  *out = predictor.release();
  return TENON_OK;
}

void close(tenon_predictor* predictor) { delete predictor; }

const tenon_predictor_info* describe(const tenon_predictor* predictor) { return &predictor->info; }

tenon_status run(tenon_predictor* predictor, const tenon_predictor_request* request, const tenon_prediction** out) {
  const tenon_predictor_value& value = *request->values[0];
  if (value.kind != TENON_INPUT_ELEMENTS)
    return fail(TENON_INVALID_ARGUMENT, "the kind is " + std::to_string(value.kind));
  auto prediction = std::make_unique<FakePrediction>();
  prediction->base = {};
  predictor->threads->run([&](size_t number) {
    const std::span elements(static_cast<const int64_t*>(value.data), value.byte_count / sizeof(int64_t));
    prediction->sum = opened == number + 1 ? std::accumulate(elements.begin(), elements.end(), int64_t{0}) : -1;
  });
  prediction->base.top_classes = &prediction->sum;
  *out = &prediction.release()->base;
  return TENON_OK;
}

void free_prediction(const tenon_prediction* prediction) { delete reinterpret_cast<const FakePrediction*>(prediction); }

const char* error() { return error_text.c_str(); }

}  // namespace

extern "C" [[gnu::visibility("default")]] const tenon::predictor::EngineFunctions* tenon_open_predictor_engine(
    const char* libtorch_version) {
  static int calls = 0;
  if (++calls > 1 || std::string(libtorch_version) != "9.9.0") return nullptr;
  static constexpr tenon::predictor::EngineFunctions kFunctions{TENON_VERSION,   open, close, describe, run,
                                                                free_prediction, error};
  return &kFunctions;
}
