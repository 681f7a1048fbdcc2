#include "framework/pipeline/load_weights.h"

#include "framework/artifacts/safetensors.h"
#include "framework/plugins/tensor_handles.h"
#include "framework/support/error.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;
using tenon::plugins::NamedTensor;

namespace {

std::filesystem::path write_file(const std::vector<NamedTensor>& tensors) {
  const std::filesystem::path file = std::filesystem::path(TENON_TEST_DIR) / "weights.safetensors";
  std::vector<tenon::artifacts::TensorView> views;
  for (const NamedTensor& named : tensors)
    views.push_back({named.name, tenon::plugins::to_dtype(named.tensor.scalar_type()), named.tensor.sizes().vec(),
                     static_cast<const std::byte*>(named.tensor.const_data_ptr()), named.tensor.nbytes()});
  tenon::artifacts::write_safetensors(file, views, {}, tenon::support::ErrorKind::checkpoint);
  return file;
}

}  // namespace

TEST_CASE("weights of every dtype arrive bit by bit") {
  const std::vector<NamedTensor> stored{{"a.weight", torch::rand({3, 4}), true},
                                        {"a.count", torch::tensor(int64_t{7}), false},
                                        {"b", torch::rand({5}).to(torch::kBFloat16), true},
                                        {"empty", torch::rand({0, 2}), true}};
  std::vector<NamedTensor> loaded;
  for (const NamedTensor& named : stored)
    loaded.push_back({named.name, torch::zeros_like(named.tensor), named.trainable});
  loaded[0].tensor.requires_grad_(true);
  load_weights(write_file(stored), loaded);
  for (size_t i = 0; i < stored.size(); ++i) CHECK(torch::equal(stored[i].tensor, loaded[i].tensor));
}

TEST_CASE("missing, unexpected and misshapen tensors are listed, and nothing changes") {
  const auto file =
      write_file({{"a", torch::ones({2}), true}, {"b", torch::ones({3}), true}, {"extra", torch::ones({1}), true}});
  const std::vector<NamedTensor> model{
      {"a", torch::zeros({2}), true}, {"b", torch::zeros({4}), true}, {"c", torch::zeros({1}), true}};
  try {
    load_weights(file, model);
    FAIL("the file was taken");
  } catch (const tenon::support::Error& error) {
    const std::string message = error.what();
    CHECK(error.kind() == tenon::support::ErrorKind::checkpoint);
    CHECK(message.find("b is float32 [3]; expected float32 [4]") != std::string::npos);
    CHECK(message.find("c is missing; expected float32 [1]") != std::string::npos);
    CHECK(message.find("extra is not a tensor of the model") != std::string::npos);
  }
  CHECK(torch::equal(model[0].tensor, torch::zeros({2})));
}
