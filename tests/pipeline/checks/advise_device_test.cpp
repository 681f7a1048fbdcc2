#include "framework/pipeline/checks/advise_device.h"

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline {
namespace {

std::vector<std::string> advice_for(const std::vector<std::string>& overrides, int capability = 9) {
  const BuiltRun run({overrides});
  support::ComputeDevice device;
  device.kind = support::ComputeDevice::Kind::cuda;
  device.capability_major = capability;
  return advise_device(*run.training, device);
}

const std::string kCnn = "model={use=\"small_cnn\"}";
const std::string kOddMlp = "model={use=\"mlp\",params={hidden=[257]}}";

}  // namespace

TEST_CASE("a run that leaves the tensor cores unused gets advice") {
  CHECK(advice_for({}) ==
        std::vector<std::string>{"fp32 does not use the tensor cores: try train.precision = \"bf16\", "
                                 "or \"tf32\", which rounds less"});
  CHECK(advice_for({}, 7) ==
        std::vector<std::string>{"fp32 does not use the tensor cores: try train.precision = \"fp16\""});
  CHECK(advice_for({kCnn, "train={epochs=1,precision=\"bf16\",memory_format=\"contiguous\"}"}) ==
        std::vector<std::string>{"convolutions in 16 bits are faster with train.memory_format = \"channels_last\""});
  CHECK(advice_for({kOddMlp, "train.precision=\"fp16\""}) ==
        std::vector<std::string>{
            "the first dimension of layers.0.weight is 257: products in 16 bits are faster with multiples of 8"});
}

TEST_CASE("there is no advice for good settings, older devices and the CPU") {
  CHECK(advice_for({"train.precision=\"bf16\""}).empty());
  CHECK(advice_for({kCnn, "train={epochs=1,precision=\"bf16\"}"}).empty());
  CHECK(advice_for({}, 6).empty());
  const BuiltRun run(Setup{});
  CHECK(advise_device(*run.training, {}).empty());
}

}  // namespace tenon::pipeline
