#include "framework/validation/checks/loss_checks.h"

#include <torch/types.h>

#include <cmath>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/validation/checks/gradcheck.h"
#include "framework/validation/session/autocast.h"
#include "framework/validation/session/loss_under_test.h"
#include "framework/validation/session/model_under_test.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

void check_loss_ports(Session& session) {
  LossUnderTest loss(session);
  const std::string first = describe(components::PortList{loss.ports(), {}});
  const std::string second = describe(read_ports(loss.subject()));
  if (first != second) throw Failed("ports returns " + first + " then " + second + " expected the same each time");
}

void check_parts(Session& session) {
  LossUnderTest loss(session);
  if (loss.parts().empty()) throw Skipped("it has no parts");
  if (loss.parts() != loss.read_parts()) throw Failed("parts returns different names the second time");
  loss.find_recipe();
  const LossUnderTest::Result result = loss.forward(loss.inputs(3));
  for (size_t i = 0; i < result.parts.size(); ++i)
    if (result.parts[i].defined() && result.parts[i].numel() != 1)
      throw Failed("forward returns the part " + loss.parts()[i] + " as " + components::describe(result.parts[i]) +
                   "; expected a scalar");
}

void check_loss_forward(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  for (const int64_t batch : {2, 3}) loss.forward(loss.inputs(batch));
}

void require_scalar_loss(const LossUnderTest::Result& result, const std::string& when) {
  if (!result.loss.defined()) throw Failed(when + "forward returns no loss (null)");
  if (result.loss.numel() != 1 || !at::isFloatingType(result.loss.scalar_type()))
    throw Failed(when + "forward returns the loss as " + components::describe(result.loss) +
                 "; expected a floating-point scalar");
}

void check_scalar_loss(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  for (const int64_t batch : {2, 3}) {
    const LossUnderTest::Result result = loss.forward(loss.inputs(batch));
    require_scalar_loss(result, "");
    if (!result.loss.requires_grad())
      throw Failed("the loss does not require grad although its inputs do; nothing would be trained");
  }
}

void check_finite_loss(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  if (!find_non_finite({loss.forward(loss.inputs(2)).loss}).empty())
    throw Failed("the loss is NaN or infinite for normally distributed inputs and for inputs within (0, 1)");
}

double weight_of(const LossUnderTest::Result& result) {
  return result.weight_tensor.defined() ? result.weight_tensor.to(at::kDouble).item<double>() : result.weight;
}

void check_weight(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  for (const int64_t batch : {2, 3}) {
    const LossUnderTest::Result result = loss.forward(loss.inputs(batch));
    if (result.weight_tensor.defined() && result.weight_tensor.numel() != 1)
      throw Failed("the weight is " + components::describe(result.weight_tensor) + "; expected a scalar");
    const double weight = weight_of(result);
    if (!(weight >= 0) || std::isinf(weight))
      throw Failed("the weight is " + std::to_string(weight) + "; expected the number of items in the mean");
    if (weight == 0)
      throw Failed(
          "the weight is 0, which states that there are no items, so the loss trains nothing; expected the number of "
          "items in the mean, such as that of the samples (in C: result->weight)");
  }
}

void check_loss_repeats(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  const std::vector<at::Tensor> inputs = loss.inputs(2);
  const LossUnderTest::Result first = loss.forward(inputs);
  loss.forward(loss.inputs(3));
  const LossUnderTest::Result second = loss.forward(inputs);
  if (!first.loss.equal(second.loss) || weight_of(first) != weight_of(second))
    throw Failed(
        "forward returns a different loss for the same inputs, after other inputs in between; expected it to depend "
        "only on its arguments");
}

void check_loss_gradients(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  const std::vector<at::Tensor> inputs = loss.inputs(3);
  const at::Tensor value = loss.forward(inputs).loss;
  record_call("backward through the loss", "");
  value.backward();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!find_non_finite({inputs[i].grad()}).empty())
      throw Failed("the gradient with respect to " + loss.ports()[i].name + " is NaN or infinite");
}

void check_loss_gradcheck(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  if (!takes(loss.ports(), TENON_FLOAT64))
    throw Skipped("not all of its inputs accept float64, which gradcheck needs for its precision");
  const std::vector<at::Tensor> inputs = loss.inputs(3, TENON_FLOAT64);
  std::vector<NamedVariable> variables;
  // An input that gets no gradient is a target.
  const at::Tensor value = loss.forward(inputs).loss;
  if (value.scalar_type() != at::kDouble) throw Skipped("the loss has a smaller dtype although its inputs are float64");
  value.backward();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].grad().defined()) variables.push_back({loss.ports()[i].name, inputs[i]});
  require_equal_gradients(
      session, [&] { return loss.forward(inputs).loss.reshape({}); }, variables);
}

void check_loss_autocast(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  bool tried = false;
  for (const int32_t dtype : {TENON_FLOAT32, TENON_BFLOAT16}) {
    if (!takes(loss.ports(), dtype)) continue;
    tried = true;
    const std::vector<at::Tensor> inputs = loss.inputs(3, dtype);
    const Bfloat16Autocast autocast;
    const at::Tensor value = loss.forward(inputs).loss;
    require_scalar_loss({value, {}, 0, {}}, "under bfloat16 autocast ");
    if (!find_non_finite({value}).empty()) throw Failed("under bfloat16 autocast the loss is NaN or infinite");
    value.backward();
  }
  if (!tried) throw Skipped("its inputs are neither float32 nor bfloat16");
}

Check make_loss_check(const char* name, Level level, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, level, Check::Of::kind, config::ComponentKind::loss, std::move(needs), run};
}

}  // namespace

void use_loss(Session& session) {
  LossUnderTest loss(session);
  loss.find_recipe();
  for (const int64_t batch : {2, 3}) loss.forward(loss.inputs(batch)).loss.backward();
  loss.subject().destroy();
}

std::vector<Check> loss_checks() {
  return {make_loss_check("ports", Level::contract, {"create"}, check_loss_ports),
          make_loss_check("forward", Level::contract, {"ports"}, check_loss_forward),
          make_loss_check("parts", Level::contract, {"forward"}, check_parts),
          make_loss_check("scalar-loss", Level::contract, {"forward"}, check_scalar_loss),
          make_loss_check("finite-loss", Level::contract, {"scalar-loss"}, check_finite_loss),
          make_loss_check("weight", Level::contract, {"forward"}, check_weight),
          make_loss_check("repeats", Level::training, {"finite-loss"}, check_loss_repeats),
          make_loss_check("gradients", Level::training, {"finite-loss"}, check_loss_gradients),
          make_loss_check("gradcheck", Level::training, {"repeats", "gradients"}, check_loss_gradcheck),
          make_loss_check("autocast", Level::training, {"gradients"}, check_loss_autocast)};
}

}  // namespace tenon::validation
