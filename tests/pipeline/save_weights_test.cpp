#include "framework/pipeline/tools/save_weights.h"

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/build/load_weights.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;
using tenon::artifacts::Metadata;
using tenon::artifacts::SafetensorsFile;
using tenon::components::NamedTensor;

namespace {

std::filesystem::path saved_file() { return tenon::test_folder() / "saved.safetensors"; }

}  // namespace

TEST_CASE("saved weights are loaded again bit by bit") {
  const at::Tensor matrix = torch::rand({3, 4});
  const std::vector<NamedTensor> saved{{"a.weight", matrix.t(), true}, {"n", torch::full({}, int64_t{7}), false}};
  CHECK(save_weights(saved_file(), saved, at::ScalarType::Undefined) == 2);
  const std::vector<NamedTensor> loaded{{"a.weight", torch::zeros({4, 3}), true},
                                        {"n", torch::zeros({}, torch::kLong), false}};
  load_weights(saved_file(), loaded);
  for (size_t i = 0; i < 2; ++i) CHECK(torch::equal(saved[i].tensor, loaded[i].tensor));
  CHECK(SafetensorsFile(saved_file()).metadata() == Metadata{{"format", "pt"}});
}

TEST_CASE("floating tensors are converted, and counters stay integers") {
  const at::Tensor weight = torch::randn({50});
  save_weights(saved_file(), {{"a", weight, true}, {"n", torch::full({2}, int64_t{300}), false}}, torch::kBFloat16);
  const std::vector<NamedTensor> loaded{{"a", torch::zeros({50}), true}, {"n", torch::zeros({2}, torch::kLong), false}};
  load_weights(saved_file(), loaded);
  CHECK(torch::equal(loaded[0].tensor, weight.to(torch::kBFloat16).to(torch::kFloat)));
  CHECK(torch::equal(loaded[1].tensor, torch::full({2}, int64_t{300})));
}

TEST_CASE("tied weights are saved once, under the alphabetically first name, with the others in the metadata") {
  const at::Tensor weight = torch::rand({2, 3});
  const at::Tensor view = weight.detach();  // another tensor with the same memory
  const std::vector<NamedTensor> tensors{{"head.weight", weight, true},
                                         {"embedding.weight", weight, true},
                                         {"third", view, true},
                                         {"part", weight.narrow(0, 0, 1), true}};
  CHECK(save_weights(saved_file(), tensors, at::ScalarType::Undefined) == 2);
  const SafetensorsFile file(saved_file());
  CHECK(file.find("embedding.weight"));
  CHECK(file.find("part"));
  CHECK(file.metadata() ==
        Metadata{{"format", "pt"}, {"head.weight", "embedding.weight"}, {"third", "embedding.weight"}});
}

TEST_CASE("a value beyond the range of the dtype is refused, and infinity is kept") {
  const std::string message = tenon::find_error(tenon::support::ErrorKind::configuration, [] {
    save_weights(saved_file(), {{"a.weight", torch::full({2}, 70000.0), true}}, torch::kHalf);
  });
  CHECK(message.find("a.weight has numbers that are too large for float16") != std::string::npos);
  CHECK(save_weights(saved_file(), {{"a", torch::full({2}, INFINITY), true}}, torch::kHalf) == 1);
}
