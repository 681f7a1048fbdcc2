// Tests torch.hpp with a fake host that uses LibTorch only.
#include <algorithm>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <tenon/draft/torch_results.hpp>
#include <tenon/torch.hpp>

#include "tests/doctest_with_torch.h"

struct tenon_tensor {
  torch::Tensor tensor;
  int owners = 1;
};

namespace {

std::string to_text(tenon_string text) { return std::string(text.data, static_cast<size_t>(text.size)); }

class TorchHost {
 public:
  TorchHost() {
    current = this;
    table.size = sizeof table;
    table.fail = [](tenon_status status, tenon_string text) {
      current->failure = to_text(text);
      return status;
    };
    table.release = [](tenon_tensor* handle) { --handle->owners; };
    table.get_extension = [](tenon_string id) -> const void* {
      return to_text(id) == TENON_NATIVE_TORCH ? &native() : nullptr;
    };
    builder = {sizeof builder, this, nullptr, adopt};
    const tenon_offer offer = {TENON_ABI_OLDEST, TENON_ABI_CURRENT, &table, {nullptr, 0}};
    tenon_reply reply = {};
    REQUIRE(tenon_plugin_open(&offer, &reply) == TENON_OK);
    plugin = reply.plugin;
  }

  tenon_tensor* make_handle(const torch::Tensor& tensor) {
    return handles.emplace_back(std::make_unique<tenon_tensor>(tenon_tensor{tensor, 1})).get();
  }

  tenon_frame frame(uint32_t training) {
    return {sizeof(tenon_frame), adopted.data(), adopted.size(), training, 0, 1, 0, 0, 1, 0};
  }

  tenon_host table = {};
  tenon_builder builder = {};
  const tenon_plugin* plugin = nullptr;
  std::string failure;
  std::vector<std::unique_ptr<tenon_tensor>> handles;
  std::vector<tenon_tensor*> adopted;
  std::vector<std::pair<std::string, uint32_t>> names;  // with the flags
  std::vector<tenon_tensor*> given_to_frame;

 private:
  static const tenon_native_torch& native() {
    static const tenon_native_torch table = {
        sizeof table,
        [](const void* tensor) -> tenon_tensor* {
          const auto& source = *static_cast<const torch::Tensor*>(tensor);
          return source.defined() ? current->make_handle(source) : nullptr;
        },
        [](const tenon_tensor* handle, void* tensor) { *static_cast<torch::Tensor*>(tensor) = handle->tensor; },
        [](const tenon_frame*, tenon_tensor* handle) { current->given_to_frame.push_back(handle); }};
    return table;
  }

  // Retains the handle, as the ABI requires.
  static tenon_status adopt(const tenon_builder* builder, tenon_string name, tenon_tensor* handle, uint32_t flags,
                            uint64_t* index) {
    auto& host = *static_cast<TorchHost*>(builder->context);
    *index = host.adopted.size();
    host.adopted.push_back(host.make_handle(handle->tensor));
    host.names.emplace_back(to_text(name), flags);
    return TENON_OK;
  }

  static TorchHost* current;
};

TorchHost* TorchHost::current = nullptr;

class Net final : public torch::nn::Module {
 public:
  Net() {
    first_ = register_module("first", torch::nn::Linear(3, 2));
    norm_ = register_module("norm", torch::nn::BatchNorm1d(2));
    norm_->weight.requires_grad_(false);
  }
  std::vector<tenon::Port> ports() const {
    return {tenon::input("x", "N,3", TENON_ANY_FLOAT), tenon::input("y", "N,2", TENON_ANY_FLOAT),
            tenon::output("sum", "N,2"), tenon::output("is_training", "")};
  }
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x, const torch::Tensor& y) {
    return {first_(x) + y, torch::tensor(norm_->is_training())};
  }
  bool is_capturable() const { return true; }

 private:
  torch::nn::Linear first_ = nullptr;
  torch::nn::BatchNorm1d norm_ = nullptr;
};

// Sums all tokens so far; the cache is the sum.
class Continued final : public torch::nn::Module {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("source", "N,S"), tenon::input("tokens", "N,T"), tenon::output("scores", "N,T,1")};
  }
  torch::Tensor forward(const torch::Tensor&, const torch::Tensor& tokens) { return tokens.unsqueeze(2); }
  tenon::Decoding decoding() const { return {"tokens", "scores"}; }
  tenon::TorchDecoded decode(const std::vector<torch::Tensor>& inputs, const std::vector<torch::Tensor>& cache) {
    CHECK(inputs[0].defined() == cache.empty());
    const torch::Tensor sum = inputs[1].sum(1, true) + (cache.empty() ? inputs[0].sum(1, true) : cache[0]);
    return {sum, {sum}};
  }
};

// The largest number of each row as a list, and the sum.
class WithResults final : public torch::nn::Module {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("x", "N,C"), tenon::output("y", "N,C")}; }
  torch::Tensor forward(const torch::Tensor& x) { return x; }
  std::vector<tenon::draft::Result> results() const { return {tenon::draft::list("largest"), {"sum"}}; }
  std::vector<tenon::draft::TorchResultValue> compute_results(const std::vector<torch::Tensor>& outputs) const {
    const torch::Tensor largest = outputs[0].amax(1, /*keepdim=*/true);
    return {{largest, largest.gt(0).sum(1)}, {outputs[0].sum(1)}};
  }
};

class Mismatch final : public torch::nn::Module {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("x", "N"), tenon::input("y", "N"), tenon::output("z", "N")};
  }
  torch::Tensor forward(torch::Tensor x) { return x; }
};

class SquaredError final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N,C"), tenon::input("target", "N,C")}; }
  torch::Tensor forward(const torch::Tensor& output, const torch::Tensor& target) {
    return torch::mse_loss(output, target);
  }
  bool is_capturable() const { return true; }
};

class PerElement final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N,C")}; }
  tenon::TorchLossResult forward(const torch::Tensor& output) { return {output.mean(), torch::tensor(output.numel())}; }
};

template <class Table>
struct Made : TorchHost {
  explicit Made(tenon::Component made)
      : table(*static_cast<const Table*>(made.table)), get_extension(made.get_extension) {
    REQUIRE(table.create(&this->TorchHost::table, nullptr, &self) == TENON_OK);
  }
  ~Made() { table.destroy(self); }

  // Whether the component declares that it can be captured. REQUIRES: it has the extension.
  bool is_capturable() const {
    uint32_t result = 0;
    REQUIRE((get_extension != nullptr));
    const auto* const capture = static_cast<const tenon_capture*>(get_extension(TENON_STRING(TENON_CAPTURE)));
    REQUIRE(capture);
    REQUIRE(capture->is_capturable(self, &result) == TENON_OK);
    return result != 0;
  }

  const Table& table;
  const void* (*get_extension)(tenon_string id);
  void* self = nullptr;
};

struct MadeNet : Made<tenon_model> {
  MadeNet() : Made(tenon::torch_model<Net>("net", "doc")) { REQUIRE(table.build(self, &builder) == TENON_OK); }

  tenon_status forward(uint32_t training, const torch::Tensor& x) {
    tenon_tensor* inputs[] = {make_handle(x), make_handle(torch::ones({2, 2}))};
    const tenon_frame within = frame(training);
    return table.forward(self, &within, inputs, 2, outputs, 2);
  }

  tenon_tensor* outputs[2] = {nullptr, nullptr};
};

struct MadeContinued : Made<tenon_model> {
  MadeContinued() : Made(tenon::torch_model<Continued>("continued", "doc")) {}
};

template <class T>
struct MadeLoss : Made<tenon_loss> {
  MadeLoss() : Made(tenon::torch_loss<T>("loss", "doc")) { result.size = sizeof result; }

  tenon_status forward(std::vector<tenon_tensor*> inputs) {
    const tenon_frame within = frame(1);
    return table.forward(self, &within, inputs.data(), inputs.size(), &result);
  }

  tenon_loss_result result = {};
};

}  // namespace

TENON_PLUGIN("native", "0.1.0", "MIT", "For this test.", tenon::torch_model<Net>("net", "doc"))

TEST_CASE_FIXTURE(TorchHost, "a native plugin reports the LibTorch that it was built with") {
  CHECK(to_text(plugin->torch_build) == TENON_TORCH_BUILD);
}

TEST_CASE_FIXTURE(MadeNet, "parameters and buffers are adopted under their PyTorch names") {
  const std::vector<std::pair<std::string, uint32_t>> expected = {
      {"first.weight", TENON_TRAINABLE}, {"first.bias", TENON_TRAINABLE}, {"norm.weight", 0},
      {"norm.bias", TENON_TRAINABLE},    {"norm.running_mean", 0},        {"norm.running_var", 0},
      {"norm.num_batches_tracked", 0}};
  CHECK(names == expected);
}

TEST_CASE_FIXTURE(MadeNet, "the parameters that do not require a gradient are listed, without the buffers") {
  const auto* const extension =
      static_cast<const tenon_frozen_parameters*>(get_extension(TENON_STRING(TENON_FROZEN_PARAMETERS)));
  REQUIRE(extension);
  const tenon_string* frozen = nullptr;
  uint64_t count = 0;
  REQUIRE(extension->names(self, &frozen, &count) == TENON_OK);
  REQUIRE(count == 1);
  CHECK(to_text(frozen[0]) == "norm.weight");
}

TEST_CASE_FIXTURE(MadeNet, "the plugin releases its references to adopted tensors") {
  for (const auto& handle : handles) {
    const bool is_the_hosts = std::find(adopted.begin(), adopted.end(), handle.get()) != adopted.end();
    CHECK(handle->owners == (is_the_hosts ? 1 : 0));
  }
}

TEST_CASE_FIXTURE(MadeNet, "forward computes, with gradients, and its outputs belong to the frame") {
  REQUIRE(forward(1, torch::zeros({2, 3})) == TENON_OK);
  const torch::Tensor expected = adopted[1]->tensor + torch::ones({2, 2});
  CHECK(torch::equal(outputs[0]->tensor, expected));
  CHECK(outputs[0]->tensor.requires_grad());
  CHECK(given_to_frame == std::vector<tenon_tensor*>{outputs[0], outputs[1]});
}

TEST_CASE_FIXTURE(MadeNet, "the module follows the frame between training and evaluation") {
  for (const uint32_t training : {1u, 0u, 1u}) {
    REQUIRE(forward(training, torch::zeros({2, 3})) == TENON_OK);
    CHECK(outputs[1]->tensor.item<bool>() == (training == 1));
  }
}

TEST_CASE_FIXTURE(MadeNet, "forward rejects weights that the module does not own") {
  adopted[1] = make_handle(adopted[1]->tensor.clone());
  CHECK(forward(1, torch::zeros({2, 3})) == TENON_UNSUPPORTED);
  CHECK(failure ==
        "forward received another tensor for \"first.bias\"; a torch::nn::Module computes only with its registered "
        "weights");
}

TEST_CASE_FIXTURE(MadeNet, "an error of LibTorch arrives without its backtrace") {
  CHECK(forward(1, torch::zeros({2, 4})) == TENON_FAILED);
  CHECK(failure.find("mat1 and mat2 shapes cannot be multiplied") != std::string::npos);
  CHECK(failure.find("frame #") == std::string::npos);
}

TEST_CASE_FIXTURE(MadeNet, "another number of inputs is rejected") {
  const tenon_frame within = frame(1);
  tenon_tensor* input = make_handle(torch::zeros({2, 3}));
  CHECK(table.forward(self, &within, &input, 1, outputs, 2) == TENON_INVALID_ARGUMENT);
  CHECK(failure == "forward takes 2 inputs; got 1");
}

TEST_CASE_FIXTURE(TorchHost, "ports that do not match forward are rejected when the model is created") {
  const tenon::Component component = tenon::torch_model<Mismatch>("mismatch", "doc");
  void* self = nullptr;
  CHECK(static_cast<const tenon_model*>(component.table)->create(&table, nullptr, &self) == TENON_INVALID_ARGUMENT);
  CHECK(failure == "ports() has 2 inputs; forward takes 1");
}

TEST_CASE_FIXTURE(MadeLoss<SquaredError>,
                  "a loss that returns a plain tensor is weighted by the samples of the batch") {
  REQUIRE(forward({make_handle(torch::full({5, 2}, 3.0)), make_handle(torch::full({5, 2}, 1.0))}) == TENON_OK);
  CHECK(result.loss->tensor.item<double>() == 4);
  CHECK(result.weight == 5);
  CHECK(result.weight_tensor == nullptr);
}

TEST_CASE_FIXTURE(MadeNet, "a native model reports whether it can be captured") { CHECK(is_capturable()); }

TEST_CASE_FIXTURE(MadeLoss<SquaredError>, "a native loss reports whether it can be captured") {
  CHECK(is_capturable());
}

TEST_CASE_FIXTURE(MadeContinued, "a native model continues sequences, and its results belong to the frame") {
  const auto* const decoding = static_cast<const tenon_decoding*>(get_extension(TENON_STRING(TENON_DECODING)));
  REQUIRE(decoding);
  const tenon_decoding_info* info = nullptr;
  REQUIRE(decoding->describe(self, &info) == TENON_OK);
  CHECK(info->cache_count == 1);
  CHECK(info->context == 0);
  tenon_tensor* inputs[] = {make_handle(torch::ones({2, 3})), make_handle(torch::ones({2, 4}))};
  tenon_tensor *cache = nullptr, *next = nullptr, *scores = nullptr;
  const tenon_frame within = frame(0);
  REQUIRE(decoding->forward(self, &within, inputs, 2, nullptr, &cache, 1, &scores) == TENON_OK);
  CHECK(torch::equal(scores->tensor, torch::full({2, 1}, 7.0)));
  tenon_tensor* more[] = {nullptr, make_handle(torch::ones({2, 1}))};
  REQUIRE(decoding->forward(self, &within, more, 2, &cache, &next, 1, &scores) == TENON_OK);
  CHECK(torch::equal(next->tensor, torch::full({2, 1}, 8.0)));
  CHECK(given_to_frame.size() == 4);
}

TEST_CASE_FIXTURE(TorchHost, "a native model computes results, which belong to the frame") {
  const tenon::Component component = tenon::draft::torch_model_with_results<WithResults>("with_results", "doc");
  const auto& table_of_model = *static_cast<const tenon_model*>(component.table);
  void* self = nullptr;
  REQUIRE(table_of_model.create(&table, nullptr, &self) == TENON_OK);
  const auto* const found = static_cast<const tenon_results*>(component.get_extension(TENON_STRING(TENON_RESULTS)));
  REQUIRE(found);
  const tenon_result* const* declared = nullptr;
  uint64_t count = 0;
  REQUIRE(found->results(self, &declared, &count) == TENON_OK);
  REQUIRE(count == 2);
  CHECK(to_text(declared[0]->name) == "largest");
  CHECK(declared[0]->is_list == 1);
  tenon_tensor* output = make_handle(torch::tensor({{1.0, 3.0}, {-1.0, -2.0}}));
  tenon_tensor *values[2] = {}, *lengths[2] = {};
  const tenon_frame within = frame(0);
  REQUIRE(found->compute(self, &within, &output, 1, values, lengths, 2) == TENON_OK);
  CHECK(torch::equal(values[0]->tensor, torch::tensor({{3.0}, {-1.0}})));
  CHECK(torch::equal(lengths[0]->tensor, torch::tensor({1, 0})));
  CHECK(torch::equal(values[1]->tensor, torch::tensor({4.0, -3.0})));
  CHECK(found->compute(self, &within, &output, 1, values, lengths, 3) == TENON_INVALID_ARGUMENT);
  CHECK(failure == "compute_results returned 2 results; results() returned 3");
  table_of_model.destroy(self);
  CHECK(component.get_extension(TENON_STRING(TENON_FROZEN_PARAMETERS)) != nullptr);
}

TEST_CASE_FIXTURE(MadeLoss<PerElement>, "a native loss without extensions has no such function") {
  CHECK((get_extension == nullptr));
}

TEST_CASE_FIXTURE(MadeLoss<PerElement>, "a loss may return its weight as a tensor") {
  REQUIRE(forward({make_handle(torch::ones({5, 2}))}) == TENON_OK);
  CHECK(result.weight_tensor->tensor.item<int64_t>() == 10);
}
