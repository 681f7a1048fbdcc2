// The library with a fake engine: loading it, and calls of several threads.
#include <doctest/doctest.h>

#include <tenon/draft/predictor.h>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;

tenon_status open_model(const std::string& model, tenon_predictor** out, const std::string& libtorch = "") {
  tenon_predictor_options options = {};
  options.size = sizeof options;
  options.model = {model.data(), model.size()};
  options.libtorch = {libtorch.data(), libtorch.size()};
  options.concurrency = 2;
  return tenon_predictor_open(&options, out);
}

// Returns the sum that the fake model computes; -1: it failed.
int64_t add(tenon_predictor* predictor, const std::vector<int64_t>& numbers, uint32_t kind = TENON_INPUT_ELEMENTS) {
  tenon_predictor_value value = {};
  value.size = sizeof value;
  value.kind = kind;
  value.data = numbers.data();
  value.byte_count = numbers.size() * sizeof(int64_t);
  const tenon_predictor_value* const values[] = {&value};
  tenon_predictor_request request = {};
  request.size = sizeof request;
  request.values = values;
  request.value_count = request.sample_count = 1;
  const tenon_prediction* prediction = nullptr;
  if (tenon_predictor_run(predictor, &request, &prediction) != TENON_OK) return -1;
  const int64_t sum = *prediction->top_classes;
  tenon_prediction_free(prediction);
  return sum;
}

template <class Body>
void on_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back([&body, thread] { body(thread); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("threads open, use and close predictors at the same time, and each has a separate error") {
  std::atomic<int> wrong = 0;
  on_threads([&](int thread) {
    const bool fails = thread % 2 == 1;
    const std::string model = fails ? "model " + std::to_string(thread) : "sum";
    for (int i = 0; i < 50; ++i) {
      tenon_predictor* predictor = nullptr;
      const tenon_status status = open_model(model, &predictor);
      if (fails) {
        wrong += status != TENON_BAD_DATA || model + ": is no model" != tenon_predictor_error();
        continue;
      }
      wrong += status != TENON_OK || tenon_predictor_describe(predictor)->concurrency != 2;
      wrong += add(predictor, {thread, i, 1}) != thread + i + 1;
      tenon_predictor_close(predictor);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads share a predictor") {
  tenon_predictor* predictor = nullptr;
  REQUIRE(open_model("sum", &predictor) == TENON_OK);
  std::atomic<int> wrong = 0;
  on_threads([&](int thread) {
    for (int i = 0; i < 1000; ++i) {
      wrong += add(predictor, {thread, i}) != thread + i;
      if (i % 100 > 0) continue;
      wrong += add(predictor, {1}, 77) != -1 || std::string("the kind is 77") != tenon_predictor_error();
    }
  });
  tenon_predictor_close(predictor);
  CHECK(wrong == 0);
}

TEST_CASE("a second LibTorch is refused, and so are null pointers freed") {
  tenon_predictor* predictor = nullptr;
  REQUIRE(open_model("sum", &predictor) == TENON_OK);
  tenon_predictor* other = nullptr;
  CHECK(open_model("sum", &other, "/nonexistent") == TENON_NOT_FOUND);
  CHECK(std::string(tenon_predictor_error()).find("another one is named: /nonexistent") != std::string::npos);
  CHECK(other == nullptr);
  tenon_predictor_close(predictor);
  CHECK(tenon_predictor_open(nullptr, &predictor) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_predictor_run(nullptr, nullptr, nullptr) == TENON_INVALID_ARGUMENT);
  CHECK(std::string(tenon_predictor_error()).find("null") != std::string::npos);
  tenon_predictor_close(nullptr);
  tenon_prediction_free(nullptr);
}
