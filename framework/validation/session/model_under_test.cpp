#include "framework/validation/session/model_under_test.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <set>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/session/check.h"

namespace tenon::validation {

namespace {

// Fills the tensor with numbers that keep activations in range. Their distribution does not matter here.
void initialise(at::Tensor& tensor, const tenon_declaration& declaration) {
  const at::NoGradGuard no_grad;
  switch (declaration.init) {
    case TENON_INIT_CONSTANT: tensor.fill_(declaration.a); return;
    case TENON_INIT_UNIFORM: tensor.uniform_(declaration.a, declaration.b); return;
    case TENON_INIT_NORMAL: tensor.normal_(declaration.a, declaration.b); return;
    default: break;
  }
  if (tensor.dim() < 2) throw Failed("an initialiser that uses fan-in or fan-out needs two or more dimensions");
  const double inputs = static_cast<double>(tensor.numel()) / static_cast<double>(std::max<int64_t>(tensor.size(0), 1));
  tensor.normal_(0, 1 / std::sqrt(std::max(inputs, 1.0)));
}

}  // namespace

// The target of tenon_builder.context during build().
struct ModelUnderTest::Builder {
  std::vector<DeclaredTensor>& tensors;
  std::set<std::string> names{};
  std::string error{};  // the first error

  tenon_status refuse(const std::string& what) {
    if (error.empty()) error = what;
    return components::fail(TENON_INVALID_ARGUMENT, what);
  }

  tenon_status add(const std::string& name, at::Tensor tensor, uint32_t flags, uint64_t* index) {
    if (name.empty()) return refuse("declares a tensor without a name");
    if (!names.insert(name).second) return refuse("declares the tensor " + name + " twice");
    if ((flags & ~uint32_t{TENON_TRAINABLE}) != 0)
      return refuse("declares " + name + " with the flags " + std::to_string(flags) + ", which include unknown ones");
    const bool trainable = (flags & TENON_TRAINABLE) != 0;
    if (trainable && !at::isFloatingType(tensor.scalar_type()))
      return refuse("declares " + name + " trainable, but it is " + components::describe(tensor) +
                    "; expected a floating-point dtype");
    if (trainable) tensor.requires_grad_(true);
    if (index) *index = tensors.size();
    tensors.push_back({name, std::move(tensor), trainable});
    return TENON_OK;
  }

  tenon_status declare(const tenon_declaration* declaration, uint64_t* index) {
    if (!declaration || declaration->size < TENON_SIZE_TO(tenon_declaration, b) || declaration->size > 1 << 16)
      return refuse("calls declare with a declaration that is null or has no size");
    const std::string name = components::to_string(declaration->name);
    if (declaration->init > TENON_INIT_XAVIER_NORMAL)
      return refuse("declares " + name + " with the initialiser " + std::to_string(declaration->init) +
                    ", which does not exist");
    if (declaration->ndim > 64 || (declaration->ndim > 0 && !declaration->shape))
      return refuse("declares " + name + " with ndim " + std::to_string(declaration->ndim) + " and no valid shape");
    try {
      const at::IntArrayRef shape(declaration->shape, declaration->ndim);
      at::Tensor tensor = at::empty(shape, components::to_scalar_type(declaration->dtype));
      initialise(tensor, *declaration);
      return add(name, std::move(tensor), declaration->flags, index);
    } catch (const c10::Error& error) {
      return refuse("declares " + name + ": " + error.what_without_backtrace());
    } catch (const std::exception& error) {
      return refuse("declares " + name + ": " + error.what());
    }
  }
};

ModelUnderTest::ModelUnderTest(Session& session) : subject_(session), ports_(read_ports(subject_)) {
  if (ports_.inputs.empty() || ports_.outputs.empty())
    throw Failed("ports returns " + std::to_string(ports_.inputs.size()) + " inputs and " +
                 std::to_string(ports_.outputs.size()) + " outputs; expected at least one of each");
}

void ModelUnderTest::build() {
  torch::manual_seed(subject_.session().seed);
  Builder state{tensors_};
  const tenon_builder builder{
      sizeof(tenon_builder), &state,
      [](const tenon_builder* self, const tenon_declaration* declaration, uint64_t* index) {
        return static_cast<Builder*>(self->context)->declare(declaration, index);
      },
      [](const tenon_builder* self, tenon_string name, tenon_tensor* tensor, uint32_t flags, uint64_t* index) {
        auto& to = *static_cast<Builder*>(self->context);
        if (!tensor) return to.refuse("adopts " + components::to_string(name) + ", which is null");
        return to.add(components::to_string(name), components::to_tensor(tensor), flags, index);
      }};
  try {
    subject_.call("build", [&] { return subject_.table().build(subject_.self(), &builder); });
  } catch (const support::Error&) {
    if (state.error.empty()) throw;
  }
  if (!state.error.empty()) throw Failed("build " + state.error);
}

void ModelUnderTest::find_recipe() {
  const at::NoGradGuard no_grad;
  std::string answer;
  const auto is_accepted = [&](const InputRecipe& recipe) {
    recipe_ = recipe;
    forward(Mode::evaluation, inputs(2));
    return true;
  };
  if (try_recipes(ports_.inputs, is_accepted, answer)) return;
  throw Failed("forward accepts none of the inputs that were tried; its last error: " + answer +
               ". If it requires inputs of a certain size, declare that size in its ports, or make it accept smaller "
               "ones with --params");
}

std::vector<at::Tensor> ModelUnderTest::inputs(int64_t batch, int32_t preferred) const {
  return make_inputs(ports_.inputs, *recipe_, batch, subject_.session().seed + static_cast<uint64_t>(batch), preferred);
}

std::vector<at::Tensor> ModelUnderTest::forward(Mode mode, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> tensors;
  for (const DeclaredTensor& declared : tensors_) tensors.push_back(declared.tensor);
  return forward_with(tensors, mode, inputs);
}

std::vector<at::Tensor> ModelUnderTest::forward_with(const std::vector<at::Tensor>& tensors, Mode mode,
                                                     const std::vector<at::Tensor>& inputs) {
  // Operators that sample from ATen's generator get the same numbers each time.
  torch::manual_seed(subject_.session().seed);
  components::StepContext context;
  context.training = mode == Mode::training;
  context.epoch = 1;
  context.seed = subject_.session().seed;
  const std::vector<tenon_tensor*> handles = components::to_handles(tensors);
  const components::Frame frame(context, handles);
  const std::vector<tenon_tensor*> input_handles = components::to_handles(inputs);
  std::vector<tenon_tensor*> outputs(ports_.outputs.size(), nullptr);
  subject_.call("forward", [&] {
    return subject_.table().forward(subject_.self(), frame.get(), input_handles.data(), input_handles.size(),
                                    outputs.data(), outputs.size());
  });
  std::vector<at::Tensor> given;
  for (const tenon_tensor* output : outputs) given.push_back(components::to_tensor(output));
  return given;
}

std::string describe(const components::PortList& ports) {
  std::string text;
  for (const components::Port& port : ports.inputs) text += "input " + port.describe() + "; ";
  for (const components::Port& port : ports.outputs) text += "output " + port.describe() + "; ";
  return text;
}

at::Tensor weigh_outputs(const std::vector<at::Tensor>& outputs, uint64_t seed) {
  at::Tensor sum;
  torch::manual_seed(seed);
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad() || !at::isFloatingType(output.scalar_type())) continue;
    const at::Tensor factors = at::rand(output.sizes(), at::kDouble) + 0.5;
    const at::Tensor part = (output.to(at::kDouble) * factors).sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

std::string find_non_finite(const std::vector<at::Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined() && at::isFloatingType(tensors[i].scalar_type()) &&
        !at::isfinite(tensors[i]).all().item<bool>())
      return std::to_string(i);
  return "";
}

}  // namespace tenon::validation
