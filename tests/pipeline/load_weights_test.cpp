#include "framework/pipeline/build/load_weights.h"

#include <tenon/abi.h>

#include <fstream>
#include <iterator>
#include <random>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/digests/xxh128.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;
using tenon::components::NamedTensor;
using tenon::config::WeightsMatch;

namespace {

std::filesystem::path write_file(const std::vector<NamedTensor>& tensors) {
  std::filesystem::path file = tenon::test_folder() / "weights.safetensors";
  std::vector<tenon::artifacts::TensorView> views;
  for (const NamedTensor& named : tensors) views.push_back(make_view(named.name, named.tensor));
  tenon::artifacts::write_safetensors(file, views, {}, tenon::support::ErrorKind::checkpoint);
  return file;
}

// Returns the error message and checks that the model is unchanged.
std::string refuse(const std::filesystem::path& file, const std::vector<NamedTensor>& model, WeightsMatch match) {
  std::vector<at::Tensor> before;
  for (const NamedTensor& named : model) before.push_back(named.tensor.clone());
  const std::string message =
      tenon::find_error(tenon::support::ErrorKind::checkpoint, [&] { load_weights(file, model, {match}); });
  for (size_t i = 0; i < model.size(); ++i) CHECK(torch::equal(model[i].tensor, before[i]));
  return message;
}

}  // namespace

TEST_CASE("weights of every dtype are loaded bit by bit") {
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
  const std::string message =
      refuse(file, {{"a", torch::zeros({2}), true}, {"b", torch::zeros({4}), true}, {"c", torch::zeros({1}), true}},
             WeightsMatch::strict);
  for (const char* part :
       {"b is float32 [3]; expected float32 [4]", "c is missing; expected float32 [1]",
        "extra is not a tensor of the model", "1 of its 3 tensors fit; the model lacks 1 tensor of the file"})
    CHECK(message.find(part) != std::string::npos);
}

TEST_CASE("a partial match loads the tensors that fit and keeps the rest") {
  const auto file = write_file({{"module.large", torch::ones({9}), true},
                                {"module.a", torch::ones({2}), true},
                                {"module.b", torch::ones({3}), true},
                                {"module.n", torch::ones({}), true},
                                {"extra", torch::ones({1}), true}});
  const std::vector<NamedTensor> model{{"a", torch::zeros({2}), true},
                                       {"b", torch::zeros({4}), true},
                                       {"c", torch::zeros({1}), true},
                                       {"n", torch::zeros({}, torch::kLong), false},
                                       {"large", torch::zeros({9}), true}};
  tenon::support::collect_warnings();
  load_weights(file, model, {WeightsMatch::partial});
  const std::vector<std::string> warnings = tenon::support::take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("; these keep their initial values: b, c, n; the model lacks these of the file: ") !=
        std::string::npos);
  CHECK(torch::equal(model[0].tensor, torch::ones({2})));
  for (size_t i = 1; i < 4; ++i) CHECK(torch::equal(model[i].tensor, torch::zeros_like(model[i].tensor)));
}

TEST_CASE("a partial match without the largest tensor is refused") {
  const auto small = write_file({{"a", torch::ones({2}), true}});
  const std::vector<NamedTensor> model{{"a", torch::zeros({2}), true}, {"embedding", torch::zeros({9}), true}};
  CHECK(refuse(small, model, WeightsMatch::partial).find("embedding is not loaded, which is the largest tensor") !=
        std::string::npos);
  load_weights(small, model, {WeightsMatch::partial, {"embed*"}});
  CHECK(torch::equal(model[0].tensor, torch::ones({2})));
}

TEST_CASE("transposed matrices are refused by name, and Hugging Face's GPT-2 is named as an example") {
  const std::vector<NamedTensor> model{{"c_attn.weight", torch::zeros({6, 2}), true},
                                       {"c_proj.weight", torch::zeros({9, 9}), true}};
  const auto transposed =
      write_file({{"c_attn.weight", torch::ones({2, 6}), true}, {"c_proj.weight", torch::ones({9, 9}), true}});
  for (const WeightsMatch match : {WeightsMatch::strict, WeightsMatch::partial}) {
    const std::string message = refuse(transposed, model, match);
    for (const char* part : {"c_attn.weight is transposed: float32 [2, 6], expected float32 [6, 2]",
                             "as in Hugging Face's GPT-2 (Conv1D): transpose them in a converted file"})
      CHECK(message.find(part) != std::string::npos);
    CHECK(message.find("weights_match") == std::string::npos);  // a partial match would be refused too
  }
  // Nothing else fits.
  const auto alone = write_file({{"c_attn.weight", torch::ones({2, 6}), true}});
  for (const WeightsMatch match : {WeightsMatch::strict, WeightsMatch::partial})
    CHECK(refuse(alone, {model[0]}, match).find("c_attn.weight is transposed") != std::string::npos);
}

TEST_CASE("excluded tensors are neither expected nor loaded") {
  const auto file = write_file({{"module.a", torch::ones({2}), true}, {"module.fc.weight", torch::ones({3}), true}});
  const std::vector<NamedTensor> model{{"a", torch::zeros({2}), true}, {"fc.weight", torch::zeros({4}), true}};
  CHECK(refuse(file, model, WeightsMatch::strict).find("fc.weight") != std::string::npos);
  load_weights(file, model, {WeightsMatch::strict, {"fc.*"}});
  CHECK(torch::equal(model[0].tensor, torch::ones({2})));
  CHECK(torch::equal(model[1].tensor, torch::zeros({4})));
  CHECK_THROWS_WITH_AS(load_weights(file, model, {WeightsMatch::strict, {"fc.*", "head.*"}}),
                       doctest::Contains("model.weights_exclude: \"head.*\" matches no tensor"), tenon::support::Error);
}

TEST_CASE("a partial match without any tensor is refused") {
  const auto file = write_file({{"encoder.a", torch::ones({2}), true}, {"b", torch::ones({3}), true}});
  const std::string message =
      refuse(file, {{"a", torch::zeros({2}), true}, {"b", torch::zeros({4}), true}}, WeightsMatch::partial);
  for (const char* part : {"none of its tensors fits the model", "a is missing",
                           "b is float32 [3]; expected float32 [4]", "encoder.a is not a tensor of the model"})
    CHECK(message.find(part) != std::string::npos);
}

TEST_CASE("floating dtypes are converted as Tensor::copy_ does, integers are refused") {
  const at::Tensor values = torch::randn({100}) * torch::logspace(-9, 9, 100);
  for (const auto from : {torch::kDouble, torch::kFloat, torch::kHalf, torch::kBFloat16})
    for (const auto to : {torch::kDouble, torch::kFloat, torch::kHalf, torch::kBFloat16}) {
      const at::Tensor stored = values.to(from), loaded = torch::zeros({100}, to);
      load_weights(write_file({{"a", stored, true}}), {{"a", loaded, true}});
      CHECK(torch::equal(loaded, stored.to(to)));
    }
  const auto file = write_file({{"a", torch::ones({1}), true}, {"n", torch::ones({1}, torch::kInt), true}});
  const std::string message = refuse(
      file, {{"a", torch::zeros({1}), true}, {"n", torch::zeros({1}, torch::kLong), true}}, WeightsMatch::strict);
  CHECK(message.find("n is int32 [1]; expected int64 [1]") != std::string::npos);
}

TEST_CASE("tied weights stored once are loaded under both names") {
  const at::Tensor weight = torch::zeros({2});
  load_weights(write_file({{"head.weight", torch::ones({2}), true}}),
               {{"embedding.weight", weight, true}, {"head.weight", weight, true}});
  CHECK(torch::equal(weight, torch::ones({2})));
}

namespace {

// Writes a checkpoint with `kept`, which leaves out `frozen`.
std::filesystem::path write_checkpoint(const NamedTensor& kept, const NamedTensor& frozen) {
  const std::filesystem::path folder = tenon::test_folder() / "without_frozen";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::vector<tenon::artifacts::TensorView> views{make_view(kept.name, kept.tensor)};
  const std::string digest = tenon::support::xxh128(
      {static_cast<const char*>(frozen.tensor.const_data_ptr()), static_cast<size_t>(frozen.tensor.nbytes())});
  tenon::artifacts::CheckpointStore store(folder, {1});
  const auto checkpoint =
      store.write({.epoch = 1,
                   .step = 3,
                   .metrics = {},
                   .model = views,
                   .excluded = {{frozen.name, tenon::components::to_dtype(frozen.tensor.scalar_type()),
                                 frozen.tensor.sizes().vec(), digest}}});
  return checkpoint / tenon::artifacts::kModelFile;
}

}  // namespace

TEST_CASE("a checkpoint without frozen parameters is loaded into a model that has them, bit for bit") {
  const NamedTensor head{"head", torch::rand({4}), true}, base{"base", torch::rand({8, 3}), false, true};
  const auto file = write_checkpoint(head, base);
  const std::vector<NamedTensor> model{{"base", base.tensor.clone(), false, true}, {"head", torch::zeros({4}), true}};
  load_weights(file, model);
  CHECK(torch::equal(model[0].tensor, base.tensor));
  CHECK(torch::equal(model[1].tensor, head.tensor));

  model[0].tensor.view(-1)[5] += 1;
  const std::string message = refuse(file, model, WeightsMatch::strict);
  CAPTURE(message);
  CHECK(message.find("manifest.json: the checkpoint leaves out the frozen parameter base, and the initial one") !=
        message.npos);
  CHECK(message.find("has the XXH128 ") != message.npos);
  // It is then missing, as any other tensor. The largest tensor may not be.
  CHECK(refuse(file, model, WeightsMatch::partial).find(": base is not loaded, which is the largest tensor") !=
        message.npos);
  CHECK(refuse(file, {{"base", torch::zeros({8, 4}), false, true}, {"head", torch::zeros({4}), true}},
               WeightsMatch::strict)
            .find("is float32 [8, 4]; expected float32 [8, 3]") != message.npos);
  load_weights(file, model, {.exclude = {"base"}});
  load_weights(file, {{"net.base", base.tensor.clone(), false, true}, {"net.head", torch::zeros({4}), true}},
               {.rename = {{"*", "net.*"}}});
}

TEST_CASE("a frozen parameter of a run in bfloat16 is compared and rounded in bfloat16") {
  const at::Tensor initial = torch::rand({64});
  const NamedTensor head{"head", torch::rand({4}).to(torch::kBFloat16), true},
      base{"base", initial.to(torch::kBFloat16), false, true};
  const auto file = write_checkpoint(head, base);
  const std::vector<NamedTensor> model{{"base", initial.clone(), false, true}, {"head", torch::zeros({4}), true}};
  load_weights(file, model);
  CHECK_FALSE(torch::equal(model[0].tensor, initial));
  CHECK(torch::equal(model[0].tensor, base.tensor.to(torch::kFloat)));
}

TEST_CASE("weights of a checkpoint with flipped bits are refused, by file and through a link") {
  namespace fs = std::filesystem;
  const fs::path folder = tenon::test_folder() / "damaged_weights";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const at::Tensor weight = torch::rand({8, 8});
  const std::vector<tenon::artifacts::TensorView> views{make_view("a", weight)};
  tenon::artifacts::CheckpointStore store(folder, {1});
  const fs::path file = store.write({1, 3, {}, views}) / tenon::artifacts::kModelFile;
  const fs::path link = folder / "linked.safetensors";
  fs::create_symlink(file, link);
  const std::vector<NamedTensor> model{{"a", torch::zeros({8, 8}), true}};

  std::string whole;
  std::ifstream stream(file, std::ios::binary);
  whole.assign(std::istreambuf_iterator<char>(stream), {});
  std::mt19937_64 random(22);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = whole;
    for (int flips = 0; flips < 2; ++flips) {
      const uint64_t bit = random() % (8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    if (bytes == whole) continue;
    std::ofstream(file, std::ios::binary) << bytes;
    for (const WeightsMatch match : {WeightsMatch::strict, WeightsMatch::partial})
      CHECK(refuse(round % 2 ? file : link, model, match).find("model.safetensors: its XXH128 is ") !=
            std::string::npos);
  }
  std::ofstream(file, std::ios::binary) << whole;
  load_weights(file, model);
  CHECK(torch::equal(model[0].tensor, weight));
}
