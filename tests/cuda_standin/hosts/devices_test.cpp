// The selection of a device, and what docs/guides/gpu.md promises about it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cuda_standin/hosts/standin_host.h"
#include "tests/test_folder.h"

namespace tenon::cuda_standin {

namespace devices_test {

nlohmann::json record_of(const Run& run) {
  return nlohmann::json::parse(end_to_end::read_file(train(run) / "run.json"));
}

void check_refused(const Run& run, const std::string& message) { check_errors(start(run), 2, {message}); }

}  // namespace devices_test

using namespace devices_test;

TEST_CASE("\"auto\" selects the first device, and the CPU if there is none") {
  Run run{"auto", {"train={steps=2}"}, {}, {{"TENON_STANDIN_DEVICES", "2"}}, "auto"};
  CHECK(record_of(run)["device"] == "cuda:0");
  run.variables["TENON_STANDIN_DEVICES"] = "0";
  CHECK(record_of(run)["device"] == "cpu");
}

TEST_CASE("a device is selected by its number, and a missing one is refused") {
  Run run{"numbered", {"train={steps=6}"}, {}, {{"TENON_STANDIN_DEVICES", "2"}}, "cuda:1"};
  CHECK(record_of(run)["device"] == "cuda:1");
  run.device = "cuda:2";
  check_refused(run, "run.device is \"cuda:2\"; found 2 CUDA devices, cuda:0 to cuda:1");
  run.device = "cuda";
  run.variables["TENON_STANDIN_DEVICES"] = "0";
  check_refused(run, "run.device is \"cuda\"; found no CUDA device: no CUDA-capable device is detected");
}

TEST_CASE("bf16 needs compute capability 8.0, and fp16 does not") {
  Run run{"precise", {"train={steps=6,precision=\"bf16\"}"}, {}, {{"TENON_STANDIN_CAPABILITY", "7.5"}}};
  check_refused(run, "bf16");
  run.settings = {"train={steps=6,precision=\"fp16\"}"};
  CHECK(record_of(run)["accelerator"]["compute_capability"] == "7.5");
  run.settings = {"train={steps=6,precision=\"bf16\"}"};
  run.variables["TENON_STANDIN_CAPABILITY"] = "8.0";
  CHECK(record_of(run)["accelerator"]["compute_capability"] == "8.0");
}

}  // namespace tenon::cuda_standin
