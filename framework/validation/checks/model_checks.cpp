#include "framework/validation/checks/model_checks.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "framework/components/tensors/graph_leaves.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/checks/gradcheck.h"
#include "framework/validation/session/autocast.h"
#include "framework/validation/session/model_under_test.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

using Mode = ModelUnderTest::Mode;

// Builds the model and finds inputs that it accepts.
void make_ready(ModelUnderTest& model) {
  model.build();
  model.find_recipe();
}

void check_model_ports(Session& session) {
  ModelUnderTest model(session);
  const std::string first = describe(model.ports());
  const std::string second = describe(read_ports(model.subject()));
  if (first != second) throw Failed("ports returns " + first + " then " + second + " expected the same each time");
}

void check_build(Session& session) {
  ModelUnderTest model(session);
  model.build();
}

void check_model_forward(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  for (const int64_t batch : {2, 3})
    for (const Mode mode : {Mode::evaluation, Mode::training}) model.forward(mode, model.inputs(batch));
}

// Why the outputs do not fit the ports; empty: they fit.
std::string find_wrong_output(const ModelUnderTest& model, const std::vector<at::Tensor>& inputs,
                              const std::vector<at::Tensor>& outputs) {
  components::Extents extents;
  for (size_t i = 0; i < inputs.size(); ++i) components::find_mismatch(inputs[i], model.ports().inputs[i], extents);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const components::Port& port = model.ports().outputs[i];
    if (!outputs[i].defined()) return "returns no " + port.name + " (null)";
    if (!outputs[i].device().is_cpu())
      return "returns " + port.name + " on " + outputs[i].device().str() + "; expected the CPU, where the inputs are";
    if (const auto reason = components::find_mismatch(outputs[i], port, extents))
      return "returns " + port.describe() + " as " + components::describe(outputs[i]) + ": " + *reason;
  }
  return "";
}

void check_outputs(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  for (const int64_t batch : {2, 3})
    for (const Mode mode : {Mode::evaluation, Mode::training}) {
      const std::vector<at::Tensor> inputs = model.inputs(batch);
      const std::string wrong = find_wrong_output(model, inputs, model.forward(mode, inputs));
      if (!wrong.empty()) throw Failed("forward " + wrong);
    }
}

void check_finite_outputs(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  for (const Mode mode : {Mode::evaluation, Mode::training}) {
    const std::string number = find_non_finite(model.forward(mode, model.inputs(3)));
    if (!number.empty())
      throw Failed("forward returns NaN or infinity in " + model.ports().outputs[std::stoul(number)].name +
                   " for normally distributed inputs");
  }
}

bool are_equal(const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right) {
  for (size_t i = 0; i < left.size(); ++i)
    if (!left[i].equal(right[i])) return false;
  return true;
}

// Calls forward with other inputs in between. The model must not remember them.
void check_model_repeats(Session& session) {
  const at::NoGradGuard no_grad;
  ModelUnderTest model(session);
  make_ready(model);
  const std::vector<at::Tensor> inputs = model.inputs(2);
  const std::vector<at::Tensor> first = model.forward(Mode::evaluation, inputs);
  model.forward(Mode::evaluation, model.inputs(3));
  if (!are_equal(first, model.forward(Mode::evaluation, inputs)))
    throw Failed(
        "forward returns different outputs for the same inputs in evaluation mode, after other inputs in between; "
        "expected them to depend only on its arguments and the frame's tensors");
}

// Weights at other addresses may be summed in another order.
bool are_close(const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right) {
  for (size_t i = 0; i < left.size(); ++i)
    if (!at::allclose(left[i], right[i], /*rtol=*/1e-3, /*atol=*/1e-5)) return false;
  return true;
}

// Equal weights in other tensors must give the same outputs, even when the first tensors are overwritten. They are
// overwritten with NaN, which cannot be mistaken for a rounding error.
void check_frame_tensors(Session& session) {
  const at::NoGradGuard no_grad;
  ModelUnderTest model(session);
  make_ready(model);
  if (model.tensors().empty()) throw Skipped("it has no tensors");
  std::vector<at::Tensor> copies;
  for (const DeclaredTensor& declared : model.tensors()) copies.push_back(declared.tensor.clone());
  const std::vector<at::Tensor> inputs = model.inputs(2);
  const std::vector<at::Tensor> expected = model.forward(Mode::evaluation, inputs);
  for (const DeclaredTensor& declared : model.tensors())
    if (at::isFloatingType(declared.tensor.scalar_type())) at::Tensor(declared.tensor).fill_(std::nan(""));
  std::vector<at::Tensor> found;
  try {
    found = model.forward_with(copies, Mode::evaluation, inputs);
  } catch (const support::Error& error) {
    throw Skipped(std::string("it rejects tensors other than those it was built with: ") + error.what());
  }
  if (!are_close(expected, found))
    throw Failed(
        "forward returns different outputs when its weights are copied to other tensors of the frame and the first "
        "ones are overwritten; expected it to compute with frame->tensors, not with handles that it kept");
}

void check_model_gradients(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  const at::Tensor sum = weigh_outputs(model.forward(Mode::training, model.inputs(3)), session.seed);
  std::vector<at::Tensor> gradients;
  std::vector<std::string> names;
  std::string without;
  if (sum.defined()) {
    std::vector<at::Tensor> declared;
    for (const DeclaredTensor& tensor : model.tensors()) declared.push_back(tensor.tensor);
    if (const std::string unregistered = components::find_unregistered(sum, declared); !unregistered.empty())
      throw Failed(unregistered);
    record_call("backward through the outputs", "");
    sum.backward();
  }
  for (const DeclaredTensor& declared : model.tensors()) {
    if (!declared.trainable) continue;
    names.push_back(declared.name);
    gradients.push_back(declared.tensor.grad());
    if (!gradients.back().defined()) without += (without.empty() ? "" : ", ") + declared.name;
  }
  if (names.empty()) throw Skipped("it has no trainable tensor");
  if (!sum.defined()) throw Failed("no output of forward in training mode depends on the trainable tensors");
  if (const std::string number = find_non_finite(gradients); !number.empty())
    throw Failed("the gradient of " + names[std::stoul(number)] + " is NaN or infinite");
  if (!without.empty()) session.warn("trainable tensors without a gradient: " + without);
}

// In place, so that a model that keeps its tensors itself also computes in float64.
void make_double(const ModelUnderTest& model) {
  for (const DeclaredTensor& declared : model.tensors()) {
    at::Tensor tensor = declared.tensor;
    if (at::isFloatingType(tensor.scalar_type())) tensor.set_data(tensor.detach().to(at::kDouble));
  }
}

void check_model_gradcheck(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  if (!takes_where_floating(model.ports().inputs, TENON_FLOAT64) || !takes(model.ports().outputs, TENON_FLOAT64))
    throw Skipped("not all of its ports accept float64, which gradcheck needs for its precision");
  make_double(model);
  std::vector<at::Tensor> inputs = model.inputs(3, TENON_FLOAT64);
  std::vector<NamedVariable> variables;
  for (const DeclaredTensor& declared : model.tensors())
    if (declared.trainable) variables.push_back({declared.name, declared.tensor});
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].scalar_type() == at::kDouble)
      variables.push_back({"the input " + model.ports().inputs[i].name, inputs[i].requires_grad_(true)});
  const std::vector<at::Tensor> outputs = model.forward(Mode::training, inputs);
  for (const at::Tensor& output : outputs)
    if (at::isFloatingType(output.scalar_type()) && output.scalar_type() != at::kDouble)
      throw Skipped("an output has the dtype " + std::string(c10::toString(output.scalar_type())) +
                    " although all inputs and tensors are float64");
  if (!weigh_outputs(outputs, session.seed).defined()) throw Skipped("no output has a gradient");
  // Numerical gradients are computed without autograd, where no output requires grad. The factors must stay the same.
  const auto function = [&] {
    std::vector<at::Tensor> given = model.forward(Mode::training, inputs);
    at::Tensor sum = at::zeros({}, at::kDouble);
    torch::manual_seed(session.seed);
    for (const at::Tensor& output : given)
      if (at::isFloatingType(output.scalar_type()))
        sum = sum + (output * (at::rand(output.sizes(), at::kDouble) + 0.5)).sum();
    return sum;
  };
  require_equal_gradients(session, function, variables);
}

void check_model_autocast(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  if (!takes_where_floating(model.ports().inputs, TENON_FLOAT32)) throw Skipped("its inputs are not float32");
  const std::vector<at::Tensor> inputs = model.inputs(3, TENON_FLOAT32);
  const Bfloat16Autocast autocast;
  const std::vector<at::Tensor> outputs = model.forward(Mode::training, inputs);
  const std::string wrong = find_wrong_output(model, inputs, outputs);
  if (!wrong.empty()) throw Failed("under bfloat16 autocast forward " + wrong);
  if (const std::string number = find_non_finite(outputs); !number.empty())
    throw Failed("under bfloat16 autocast forward returns NaN or infinity in " +
                 model.ports().outputs[std::stoul(number)].name);
  if (const at::Tensor sum = weigh_outputs(outputs, session.seed); sum.defined()) sum.backward();
}

Check make_model_check(const char* name, Level level, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, level, Check::Of::kind, config::ComponentKind::model, std::move(needs), run};
}

}  // namespace

void use_model(Session& session) {
  ModelUnderTest model(session);
  make_ready(model);
  {
    const at::NoGradGuard no_grad;
    model.forward(Mode::evaluation, model.inputs(2));
  }
  const at::Tensor sum = weigh_outputs(model.forward(Mode::training, model.inputs(3)), session.seed);
  if (sum.defined()) sum.backward();
  model.subject().destroy();
}

std::vector<Check> model_checks() {
  return {make_model_check("ports", Level::contract, {"create"}, check_model_ports),
          make_model_check("build", Level::contract, {"ports"}, check_build),
          make_model_check("forward", Level::contract, {"build"}, check_model_forward),
          make_model_check("outputs", Level::contract, {"forward"}, check_outputs),
          make_model_check("finite-outputs", Level::contract, {"outputs"}, check_finite_outputs),
          make_model_check("repeats", Level::training, {"finite-outputs"}, check_model_repeats),
          make_model_check("frame-tensors", Level::training, {"repeats"}, check_frame_tensors),
          make_model_check("gradients", Level::training, {"finite-outputs"}, check_model_gradients),
          make_model_check("gradcheck", Level::training, {"repeats", "gradients"}, check_model_gradcheck),
          make_model_check("autocast", Level::training, {"gradients"}, check_model_autocast)};
}

}  // namespace tenon::validation
