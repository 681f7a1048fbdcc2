// What the library does to the program that uses it: nothing.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <omp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <fstream>
#include <tenon/draft/predictor.hpp>
#include <thread>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/predictor/exported_model.h"

using namespace tenon::end_to_end;
using tenon::draft::InputValue;
using tenon::draft::Predictor;
using tenon::draft::PredictorError;
namespace fs = std::filesystem;

namespace {

const ExportedModel& digits() {
  static const ExportedModel exported = export_model(
      "digits",
      "[model]\nuse = \"mlp\"\nparams = { hidden = [16] }\n[data]\nbatch_size = 64\nworkers = 0\n"
      "[data.train]\nuse = \"digits\"\nparams = { split = \"train\" }\n"
      "[data.validation]\nuse = \"digits\"\nparams = { split = \"test\" }\n[[loss]]\nuse = \"cross_entropy\"\n");
  return exported;
}

std::vector<float> make_digit(int number) {
  std::vector<float> pixels(64);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>((static_cast<int>(i) * number) % 17) / 16;
  return pixels;
}

std::vector<float> predict(Predictor& predictor, const std::vector<float>& pixels) {
  const auto prediction = predictor.run(InputValue::elements(pixels));
  const tenon_predicted_output& output = prediction.output(0);
  const auto* const values = static_cast<const float*>(output.elements);
  return {values, values + output.byte_count / sizeof(float)};
}

// KiB of memory that is in use and not shared.
long read_private_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Private_Dirty:")) return std::atol(line.c_str() + std::strlen("Private_Dirty:"));
  return -1;
}

constexpr const char* kLibrary = TENON_BINARY_DIR "/lib/libtenon_predictor.so";

Outcome run_embedding(const std::string& task, const std::string& file = "") {
  const std::string model = digits().file;
  return run_program("../tests/bin/embedding_program", {kLibrary, model, task, file});
}

}  // namespace

TEST_CASE("a program that predicts prints nothing, keeps its settings and ends as it wants") {
  const Outcome outcome = run_embedding("settings");
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.output.empty());
  CHECK(outcome.errors.empty());
}

TEST_CASE("a program closes the library and opens it again") {
  const Outcome outcome = run_embedding("again");
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.errors.empty());
}

TEST_CASE("another LibTorch in the process is refused by name") {
  const Outcome outcome = run_embedding("other-libtorch", TENON_BINARY_DIR "/tests/other_libtorch/lib/libtorch_cpu.so");
  CHECK(outcome.exit_code == 11);
  CHECK(tenon::contains(outcome.output, "tests/other_libtorch"));
}

TEST_CASE("eight threads predict at the same time with equal bits and without more memory") {
  constexpr int kThreads = 8, kCalls = 10'000, kDigits = 10;
  for (const unsigned concurrency : {1u, 3u}) {
    CAPTURE(concurrency);
    Predictor predictor({.model = digits().file, .threads = 1, .concurrency = concurrency});
    std::vector<std::vector<float>> inputs, expected;
    for (int i = 0; i < kDigits; ++i) {
      inputs.push_back(make_digit(i));
      expected.push_back(predict(predictor, inputs.back()));
    }
    std::atomic<int> wrong = 0;
    const auto call = [&](int calls) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
          for (int i = 0; i < calls; ++i) {
            const auto digit = static_cast<size_t>((i + thread) % kDigits);
            if (predict(predictor, inputs[digit]) != expected[digit]) ++wrong;
          }
        });
      for (std::thread& thread : threads) thread.join();
    };
    call(kCalls / 10);  // the threads' heaps
    const long before = read_private_memory();
    call(kCalls);
    CHECK(wrong == 0);
    // A leak of 16 bytes in each call would be 1,250 KiB.
    CHECK(read_private_memory() - before < 1024);
  }
}

TEST_CASE("instances of a native model share its weights") {
  const ExportedModel exported = export_model(
      "native",
      "[model]\nuse = \"small_cnn\"\nparams = { width = 8 }\n[data]\nbatch_size = 64\nworkers = 0\n"
      "[data.train]\nuse = \"digits\"\nparams = { split = \"train\" }\n"
      "[data.validation]\nuse = \"digits\"\nparams = { split = \"test\" }\n[[loss]]\nuse = \"cross_entropy\"\n");
  const std::vector<float> input = make_digit(5);
  for (const unsigned threads : {1u, 2u}) {
    CAPTURE(threads);
    Predictor alone({.model = exported.file, .threads = threads});
    const std::vector<float> expected = predict(alone, input);
    Predictor predictor({.model = exported.file, .threads = threads, .concurrency = 3});
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller)
      callers.emplace_back([&] {
        for (int i = 0; i < 100; ++i) wrong += predict(predictor, input) != expected;
      });
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("options out of range and unknown plugins are refused") {
  const auto refuse = [](tenon::draft::PredictorOptions options, const std::string& text) {
    try {
      Predictor predictor(std::move(options));
      FAIL("it was opened");
    } catch (const PredictorError& error) {
      CAPTURE(error.what());
      CHECK(tenon::contains(error.what(), text));
    }
  };
  refuse({.model = digits().file, .plugins = {"/nonexistent"}}, "/nonexistent: does not exist");
  refuse({.model = digits().file, .libtorch = "/nonexistent"}, "another one is named: /nonexistent");
  tenon_predictor_options options = {};
  options.size = 8;
  tenon_predictor* predictor = nullptr;
  CHECK(tenon_predictor_open(&options, &predictor) == TENON_INVALID_ARGUMENT);
  CHECK(tenon::contains(tenon_predictor_error(), "set its member size"));
  CHECK(predictor == nullptr);
}
