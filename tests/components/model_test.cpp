#include "framework/components/kinds/model.h"

#include <tenon/frozen_parameters.h>
#include <torch/nn/init.h>

#include <functional>
#include <stdexcept>

#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"

namespace model_test {

using namespace tenon::components;

namespace {

// A model inside the test. Its build() declares the tensors that the test sets.
struct Declared {
  const char* name;
  std::vector<int64_t> shape;
  uint32_t init;
  double a;
  double b;
  int32_t dtype = TENON_FLOAT32;
  uint32_t flags = TENON_TRAINABLE;
};
std::vector<Declared> declared;

tenon_status create(const tenon_host*, const tenon_params*, void** self) {
  *self = nullptr;
  return TENON_OK;
}
void destroy(void*) {}

tenon_status ports(void*, const tenon_port* const** ports, uint64_t* count) {
  static const tenon_port input{sizeof(tenon_port), TENON_INPUT, 0, TENON_STRING("x"), TENON_STRING("N,2"), 0,
                                TENON_STRING("")};
  static const tenon_port output{sizeof(tenon_port), TENON_OUTPUT, 0, TENON_STRING("y"), TENON_STRING("N,2"), 0,
                                 TENON_STRING("")};
  static const tenon_port* const both[] = {&input, &output};
  *ports = both;
  *count = 2;
  return TENON_OK;
}

tenon_status build(void*, const tenon_builder* builder) {
  for (const Declared& one : declared) {
    tenon_declaration declaration{};
    declaration.size = sizeof declaration;
    declaration.name = to_tenon(one.name);
    declaration.shape = one.shape.data();
    declaration.ndim = static_cast<uint32_t>(one.shape.size());
    declaration.dtype = one.dtype;
    declaration.flags = one.flags;
    declaration.init = one.init;
    declaration.a = one.a;
    declaration.b = one.b;
    if (const tenon_status status = builder->declare(builder, &declaration, nullptr)) return status;
  }
  return TENON_OK;
}

// What forward() computes with its input before it returns it.
std::function<void(const at::Tensor& x, const tenon_frame* frame)> compute;

tenon_status forward(void*, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t, tenon_tensor** outputs,
                     uint64_t) {
  try {
    if (compute) compute(to_tensor(inputs[0]), frame);
  } catch (const c10::Error& error) {
    return fail(TENON_FAILED, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(TENON_FAILED, error.what());
  }
  outputs[0] = inputs[0];
  return TENON_OK;
}

// What the extension TENON_FROZEN_PARAMETERS lists.
std::vector<tenon_string> frozen;

tenon_status list_frozen(void*, const tenon_string** names, uint64_t* count) {
  *names = frozen.data();
  *count = frozen.size();
  return TENON_OK;
}

const void* get_extension(tenon_string id) {
  static constexpr tenon_frozen_parameters table{sizeof(tenon_frozen_parameters), list_frozen};
  return to_string(id) == TENON_FROZEN_PARAMETERS ? &table : nullptr;
}

constexpr tenon_model kTable{sizeof(tenon_model), create, destroy, ports, build, forward};
const PluginInfo kPlugin{{"test", "1.0", "MIT", ""}, "test.so", "", 1};
const Component kComponent{{tenon::config::ComponentKind::model, "echo", "", {}}, &kTable, &kPlugin, get_extension};

std::vector<at::Tensor> build_tensors(std::vector<Declared> expected) {
  install_libtorch();
  declared = std::move(expected);
  torch::manual_seed(7);
  Model model(kComponent, {});
  model.build();
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& named : model.tensors()) tensors.push_back(named.tensor.detach());
  return tensors;
}

std::string refusal_of(std::vector<Declared> expected) {
  try {
    build_tensors(std::move(expected));
  } catch (const tenon::support::Error& error) {
    return error.what();
  }
  return "";
}

// Returns the error of a forward of the declared model.
std::string failure_of(std::function<void(const at::Tensor& x, const tenon_frame* frame)> network,
                       const StepContext& context = {}) {
  install_libtorch();
  compute = std::move(network);
  Model model(kComponent, {});
  model.build();
  std::string message;
  try {
    model.forward(context, {at::ones({4, 2})});
  } catch (const tenon::support::Error& error) {
    message = error.what();
  }
  compute = nullptr;
  return message;
}

}  // namespace

TEST_CASE("the initialisers sample the same numbers as torch.nn.init") {
  const auto drawn = build_tensors({{"a", {8, 4, 3, 3}, TENON_INIT_KAIMING_UNIFORM, 0.5, 0},
                                    {"b", {8, 4}, TENON_INIT_KAIMING_NORMAL, 0, 0},
                                    {"c", {8, 4}, TENON_INIT_XAVIER_UNIFORM, 2, 0},
                                    {"d", {8, 4}, TENON_INIT_XAVIER_NORMAL, 0, 0},
                                    {"e", {5}, TENON_INIT_UNIFORM, -2, 3},
                                    {"f", {5}, TENON_INIT_NORMAL, 1, 0.1},
                                    {"g", {5}, TENON_INIT_CONSTANT, 4, 0}});
  torch::manual_seed(7);
  CHECK(torch::allclose(drawn[0], torch::nn::init::kaiming_uniform_(torch::empty({8, 4, 3, 3}), 0.5)));
  CHECK(torch::allclose(drawn[1], torch::nn::init::kaiming_normal_(torch::empty({8, 4}))));
  CHECK(torch::allclose(drawn[2], torch::nn::init::xavier_uniform_(torch::empty({8, 4}), 2)));
  CHECK(torch::allclose(drawn[3], torch::nn::init::xavier_normal_(torch::empty({8, 4}))));
  CHECK(torch::equal(drawn[4], torch::empty({5}).uniform_(-2, 3)));
  CHECK(torch::equal(drawn[5], torch::empty({5}).normal_(1, 0.1)));
  CHECK(torch::equal(drawn[6], torch::full({5}, 4.0f)));
}

TEST_CASE("a model lists its frozen parameters, which are not buffers") {
  install_libtorch();
  declared = {{"a", {2}, TENON_INIT_CONSTANT, 0, 0},
              {"b", {2}, TENON_INIT_CONSTANT, 0, 0, TENON_FLOAT32, 0},
              {"c", {2}, TENON_INIT_CONSTANT, 0, 0, TENON_FLOAT32, 0}};
  frozen = {TENON_STRING("c")};
  Model model(kComponent, {});
  model.build();
  CHECK_FALSE(model.tensors()[0].is_frozen_parameter);
  CHECK_FALSE(model.tensors()[1].is_frozen_parameter);
  CHECK(model.tensors()[2].is_frozen_parameter);

  const auto refuse = [](const char* name, size_t count) {
    frozen.assign(count, to_tenon(name));
    std::string message = refusal_of(declared);
    frozen.clear();
    return message;
  };
  CHECK(refuse("d", 1).find("frozen_parameters.names: lists \"d\", which build() did not declare") !=
        std::string::npos);
  CHECK(refuse("a", 1).find("frozen_parameters.names: lists \"a\", which build() declared as trainable") !=
        std::string::npos);
  CHECK(refuse("b", 4).find("returns a list of 4 names; expected at most one") != std::string::npos);
}

TEST_CASE("buffers are not trained, whatever their dtype") {
  install_libtorch();
  declared = {{"weight", {2}, TENON_INIT_CONSTANT, 1, 0}, {"count", {}, TENON_INIT_CONSTANT, 0, 0, TENON_INT64, 0}};
  Model model(kComponent, {});
  model.build();
  CHECK(model.tensors()[0].tensor.requires_grad());
  CHECK(model.tensors()[1].tensor.scalar_type() == torch::kLong);
  CHECK_FALSE(model.tensors()[1].trainable);
}

TEST_CASE("invalid declarations are refused with the tensor's name") {
  CHECK(refusal_of({{"w", {2}, TENON_INIT_CONSTANT, 0, 0}, {"w", {2}, TENON_INIT_CONSTANT, 0, 0}})
            .find("\"w\" is empty or used twice") != std::string::npos);
  CHECK(refusal_of({{"w", {2}, 99, 0, 0}}).find("declare w: w: the initialiser 99 does not exist") !=
        std::string::npos);
  CHECK(refusal_of({{"w", {2}, TENON_INIT_XAVIER_UNIFORM, 0, 0}}).find("needs two or more dimensions") !=
        std::string::npos);
  CHECK(refusal_of({{"w", {2}, TENON_INIT_CONSTANT, 0, 0, TENON_INT64}})
            .find("cannot be trained; expected a floating-point dtype") != std::string::npos);
  CHECK(refusal_of({{"w", {2}, TENON_INIT_CONSTANT, 0, 0, 77}}).find("the dtype 77 does not exist") !=
        std::string::npos);
  CHECK(refusal_of({{"w", {-2}, TENON_INIT_CONSTANT, 0, 0}}).find("declare w: ") != std::string::npos);
}

TEST_CASE("an error in a forward names the operator and its tensors") {
  declared = {{"body.0.weight", {3, 2}, TENON_INIT_CONSTANT, 1, 0},
              {"head.weight", {2, 5}, TENON_INIT_CONSTANT, 1, 0},
              {"head.bias", {2}, TENON_INIT_CONSTANT, 1, 0}};
  const auto weight = [](const tenon_frame* frame, size_t i) { return to_tensor(frame->tensors[i]); };

  CHECK(failure_of([&](const at::Tensor& x, const tenon_frame* frame) {
          at::linear(at::linear(x, weight(frame, 0)), weight(frame, 1), weight(frame, 2));
        }).ends_with("; in aten::linear(float32 [4, 3], head.weight: float32 [2, 5], head.bias: float32 [2])"));
  // A view of a weight, within another operator
  CHECK(failure_of([&](const at::Tensor& x, const tenon_frame* frame) {
          at::matmul(x, weight(frame, 1).t());
        }).ends_with("; in aten::matmul(float32 [4, 2], head.weight: float32 [5, 2])"));
  // An operator without weights
  CHECK(failure_of([&](const at::Tensor& x, const tenon_frame* frame) {
          at::cat({at::linear(x, weight(frame, 0)), at::ones({5, 1})}, 1);
        }).ends_with("; in aten::cat(float32 [4, 3], float32 [5, 1]), after body.0"));
}

TEST_CASE("an error in a forward names no operator that did not fail") {
  declared = {{"weight", {3, 2}, TENON_INIT_CONSTANT, 1, 0}};
  const auto matmul = [](const at::Tensor& x, const tenon_frame*) { at::matmul(x, x); };

  CHECK(failure_of([](const at::Tensor& x, const tenon_frame*) {
          at::relu(x);
          throw std::runtime_error("the table is empty");
        }).ends_with("the table is empty"));
  // The second error is another one.
  int calls = 0;
  CHECK(failure_of([&](const at::Tensor& x, const tenon_frame* frame) {
          if (calls++ == 0) throw std::runtime_error("the file is not ready");
          matmul(x, frame);
        }).ends_with("the file is not ready"));
  // Other ranks would have to repeat the forward too.
  StepContext with_ranks;
  with_ranks.world_size = 2;
  CHECK(failure_of(matmul, with_ranks).find("; in ") == std::string::npos);
  CHECK(failure_of(matmul).find("; in aten::matmul(") != std::string::npos);
}

}  // namespace model_test
