// Compiled graphs: tests/parity/make_compiled.py added their machine code, for processors with AVX2, to the archives of
// make_exported.py. They have to compute what PyTorch computed.
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"
#include "tests/exported/reference.h"
#include "tests/test_folder.h"

namespace compiled_test {

using namespace tenon::exported;
using nlohmann::json;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr double kLimit = 1e-5;
constexpr const char* kRecord = "tenon/compiled.json";

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

// Opens an archive with `compiled = true`. The weights have the memory format of a run.
Model open_compiled(const std::filesystem::path& path) {
  Model model = open_archive(path, {{"compiled", true}});
  for (const NamedTensor& named : model.tensors()) {
    at::Tensor tensor = named.tensor;
    if (tensor.dim() == 4) tensor.set_data(tensor.contiguous(at::MemoryFormat::ChannelsLast));
  }
  return model;
}

// Whether the machine code computed the output. Autograd names a function after its class.
bool is_compiled(const at::Tensor& output) {
  REQUIRE(output.grad_fn());
  return output.grad_fn()->name().find("CompiledGraph") != std::string::npos;
}

at::Tensor forward(const Model& model, const Reference& reference, tenon::components::StepContext context = {}) {
  context.training = true;
  return model.forward(context, reference.inputs(0)).front();
}

// Changes the description of the compiled graphs of the archive of the convolutional network.
template <class Change>
std::filesystem::path change_record(Change&& change) {
  Records records = read_records(archive_path("cnn_compiled"));
  json record = json::parse(records.at(kRecord));
  change(record);
  records[kRecord] = record.dump();
  return write_records(records, "changed");
}

void check_refused(const std::filesystem::path& path, const std::string& message) {
  CHECK_THROWS_WITH_AS(open_compiled(path), doctest::Contains(message.c_str()), tenon::support::Error);
}

}  // namespace

TEST_CASE("compiled graphs have PyTorch's losses, weights, buffers and outputs after training") {
  for (const std::string name : {"cnn", "encoder", "pair", "counter"}) {
    CAPTURE(name);
    const Reference reference(archive_folder(), name);
    const Model model = open_compiled(archive_path(name + "_compiled"));
    CHECK(is_compiled(forward(open_compiled(archive_path(name + "_compiled")), reference)) == has_avx2());
    CHECK(distance(train(model, reference), reference.losses()) < kLimit);
    check_weights(model, reference, kLimit);
    check_evaluation(model, reference, kLimit);
  }
}

TEST_CASE("a compiled graph draws its random numbers from LibTorch's generator") {
  const Reference reference(archive_folder(), "dropped");
  const Model model = open_compiled(archive_path("dropped_compiled"));
  const auto draw = [&](uint64_t seed) {
    torch::manual_seed(seed);
    return forward(model, reference).detach();
  };
  const at::Tensor first = draw(1);
  CHECK(first.equal(draw(1)));
  CHECK_FALSE(first.equal(draw(2)));
  CHECK(is_compiled(forward(model, reference)) == has_avx2());
}

TEST_CASE("a compiled graph computes batches of any size, and inputs of any strides") {
  const Reference reference(archive_folder(), "encoder");
  const Model graph = open_archive(archive_path("encoder")), compiled = open_compiled(archive_path("encoder_compiled"));
  const at::Tensor tokens = reference.inputs(0).front();
  for (const at::Tensor& input : {tokens.slice(0, 0, 1), tokens.slice(0, 0, 3), tokens.repeat({50, 1}),
                                  tokens.t().contiguous().t(), tokens[0].expand({6, 5})}) {
    const at::Tensor expected = graph.forward({.training = true}, {input}).front();
    const at::Tensor found = compiled.forward({.training = true}, {input}).front();
    CHECK(distance(found, expected) < kLimit);
    CHECK(is_compiled(found) == (has_avx2() && input.size(0) > 1));  // PyTorch compiles a size of 1 separately
  }
}

TEST_CASE("the graph itself runs where the machine code cannot") {
  const Reference reference(archive_folder(), "encoder");
  const std::filesystem::path path = archive_path("encoder_compiled");
  SUBCASE("in bf16") {
    const Model model = open_compiled(path);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const at::Tensor output = forward(model, reference);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    CHECK_FALSE(is_compiled(output));
  }
  SUBCASE("with activation checkpointing") {
    tenon::components::StepContext context;
    context.checkpoints_activations = true;
    CHECK_FALSE(is_compiled(forward(open_compiled(path), reference, context)));
  }
  SUBCASE("with gradients in evaluation") {
    const Model model = open_compiled(path);
    CHECK_FALSE(is_compiled(model.forward({.training = false}, reference.inputs(0)).front()));
  }
  SUBCASE("with weights of another memory format") {
    const Model model = open_compiled(path);
    for (const NamedTensor& named : model.tensors()) {
      at::Tensor tensor = named.tensor;
      if (tensor.dim() == 2) tensor.set_data(tensor.t().contiguous().t());
    }
    CHECK_FALSE(is_compiled(forward(model, reference)));
  }
}

TEST_CASE("machine code for another LibTorch or processor, or that cannot be loaded, is not used") {
  const Reference reference(archive_folder(), "cnn");
  const auto check_unused = [&](const std::filesystem::path& path) {
    const Model model = open_compiled(path);
    CHECK_FALSE(is_compiled(forward(model, reference)));
    CHECK(distance(train(model, reference), reference.losses()) < kLimit);
  };
  check_unused(change_record([](json& record) { record["torch"] = "2.10.0"; }));
  check_unused(change_record([](json& record) { record["instructions"] = "avx1024"; }));
  check_unused(change_record([](json& record) { record["version"] = 2; }));
  Records records = read_records(archive_path("cnn_compiled"));
  records["tenon/train_forward/train_forward.so"] = "not a library";
  check_unused(write_records(records, "damaged"));
}

TEST_CASE("a wrong description of compiled graphs is refused") {
  check_refused(archive_path("cnn"),
                "has no compiled graphs; export the model with --compile, or remove compiled = true");
  if (!has_avx2()) return;
  const auto graph = [](json& record) -> json& { return record["graphs"]["train"]; };
  check_refused(change_record([&](json& record) { graph(record)["inputs"][0]["weight"] = "none"; }),
                "tenon/compiled.json: there is no weight \"none\"");
  check_refused(change_record([&](json& record) {
                  graph(record)["inputs"][0]["order"] = {0, 0, 1, 2};
                }),
                "order is [0,0,1,2]; expected each dimension once");
  check_refused(change_record([&](json& record) { graph(record)["inputs"][0]["dtype"] = "float8"; }),
                "the dtype \"float8\" is not supported");
  check_refused(change_record([&](json& record) { graph(record)["backward"]["gradients"].push_back(nullptr); }),
                "gradients; expected one for each of the");
  check_refused(change_record([&](json& record) { graph(record)["backward"]["inputs"][0]["input"] = 99; }),
                "input 99 does not exist");
  check_refused(change_record([&](json& record) { graph(record)["sizes"][0]["min"] = "two"; }), "expected an integer");
  check_refused(change_record([](json& record) { record["graphs"].erase("eval"); }), "eval");
}

TEST_CASE("machine code in a file that others can write is refused before it is read") {
  const std::filesystem::path path = tenon::test_folder() / "shared.pt2";
  std::filesystem::copy_file(archive_path("cnn_compiled"), path);
  std::filesystem::permissions(path, std::filesystem::perms{0646});
  check_refused(path, "is writable by others, mode 0646; expected that only you and root can write it");
  CHECK_NOTHROW(open_archive(path));
}

}  // namespace compiled_test
