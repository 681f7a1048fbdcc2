#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "framework/components/kinds/loss.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/checks/gradcheck.h"
#include "framework/validation/checks/tensor_checks.h"
#include "framework/validation/session/child_process.h"

namespace tenon::validation {

namespace {

components::Loss make_loss(const Session& session) {
  return {session.component(), config::LossPlan{session.plan(), session.plan().use}};
}

// A loss with inputs that it accepts and for which it is finite, if there are such inputs.
struct ReadyLoss {
  explicit ReadyLoss(const Session& of) : session(of) {}

  // Floating-point inputs require grad.
  std::vector<at::Tensor> make_inputs(int64_t batch, int32_t preferred = TENON_DTYPE_NONE) const {
    std::vector<at::Tensor> made = inputs.make(batch, preferred);
    for (at::Tensor& input : made)
      if (at::isFloatingType(input.scalar_type())) input.requires_grad_(true);
    return made;
  }

  components::Loss::Result forward(const std::vector<at::Tensor>& given) const {
    torch::manual_seed(session.seed());
    return loss.forward_unchecked(make_context(session, /*training=*/true), given);
  }

  const Session& session;
  const components::Loss loss = make_loss(session);
  const RandomInputs inputs{loss.inputs(), session.seed(), "forward",
                            [this](const std::vector<at::Tensor>& given, bool& is_accepted) {
                              const at::Tensor value = forward(given).loss;
                              is_accepted = true;
                              return value.defined() && !find_non_finite({value});
                            }};
};

void check_loss_ports(Session& session) {
  require_same_ports<tenon_loss>(session);
  make_loss(session);
}

void check_parts(Session& session) {
  const ReadyLoss ready(session);
  const std::vector<std::string>& names = ready.loss.part_names();
  if (names.empty()) throw Skipped("it has no parts");
  if (names != make_loss(session).part_names()) throw Failed("parts returns different names the second time");
  const std::vector<at::Tensor> parts = ready.forward(ready.make_inputs(3)).parts;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].defined() && parts[i].numel() != 1)
      throw Failed("forward returns the part {} as {}; expected a scalar", names[i], components::describe(parts[i]));
}

void check_loss_forward(Session& session) {
  const ReadyLoss ready(session);
  for (const int64_t batch : {2, 3}) ready.forward(ready.make_inputs(batch));
}

void require_scalar_loss(const components::Loss::Result& result, const std::string& when) {
  if (!result.loss.defined()) throw Failed(when + "forward returns no loss (null)");
  if (result.loss.numel() != 1 || !at::isFloatingType(result.loss.scalar_type()))
    throw Failed("{}forward returns the loss as {}; expected a floating-point scalar", when,
                 components::describe(result.loss));
}

void check_scalar_loss(Session& session) {
  const ReadyLoss ready(session);
  for (const int64_t batch : {2, 3}) {
    const components::Loss::Result result = ready.forward(ready.make_inputs(batch));
    require_scalar_loss(result, "");
    if (!result.loss.requires_grad())
      throw Failed("the loss does not require grad although its inputs do; nothing would be trained");
  }
}

void check_finite_loss(Session& session) {
  const ReadyLoss ready(session);
  if (find_non_finite({ready.forward(ready.make_inputs(2)).loss}))
    throw Failed("the loss is NaN or infinite for normally distributed inputs and for inputs within (0, 1)");
}

double weight_of(const components::Loss::Result& result) {
  return result.weight_tensor.defined() ? result.weight_tensor.to(at::kDouble).item<double>() : result.weight;
}

void check_weight(Session& session) {
  const ReadyLoss ready(session);
  for (const int64_t batch : {2, 3}) {
    const components::Loss::Result result = ready.forward(ready.make_inputs(batch));
    if (result.weight_tensor.defined() && result.weight_tensor.numel() != 1)
      throw Failed("the weight is " + components::describe(result.weight_tensor) + "; expected a scalar");
    const double weight = weight_of(result);
    if (!(weight >= 0) || std::isinf(weight))
      throw Failed("the weight is " + std::to_string(weight) + "; expected the number of items in the mean");
    if (result.is_empty(weight))
      throw Failed(
          "the weight is 0, which states that there are no items, so the loss trains nothing; expected the number of "
          "items in the mean, such as that of the samples (in C: result->weight)");
  }
}

void check_loss_repeats(Session& session) {
  const ReadyLoss ready(session);
  const std::vector<at::Tensor> inputs = ready.make_inputs(2);
  const components::Loss::Result first = ready.forward(inputs);
  ready.forward(ready.make_inputs(3));
  const components::Loss::Result second = ready.forward(inputs);
  if (!first.loss.equal(second.loss) || weight_of(first) != weight_of(second))
    throw Failed(
        "forward returns a different loss for the same inputs, after other inputs in between; expected it to depend "
        "only on its arguments");
}

// One result of a loss: the loss and its parts, and the number of items in them.
struct Measured {
  std::vector<double> values;
  double weight;
  bool is_sum;

  // A mean of no items may be NaN.
  double sum(size_t i) const { return is_sum ? values[i] : weight == 0 ? 0 : weight * values[i]; }
};

Measured measure(const ReadyLoss& ready, const std::vector<at::Tensor>& inputs) {
  const components::Loss::Result result = ready.forward(inputs);
  Measured measured{{result.loss.to(at::kDouble).item<double>()}, weight_of(result), result.is_sum};
  for (const at::Tensor& part : result.parts)
    measured.values.push_back(part.defined() ? part.to(at::kDouble).item<double>() : std::nan(""));
  return measured;
}

// Computes the loss of a batch, and those of two parts of it. Micro-batches and processes are such parts.
void check_loss_adds_up(Session& session) {
  const ReadyLoss ready(session);
  ready.inputs.require_slices();
  constexpr int64_t kFirst = 2, kAll = 5;
  constexpr double kTolerance = 1e-5;  // the sums are of a few numbers; float32 has an error of 6e-8 for each
  const bool has_double = takes(ready.loss.inputs(), TENON_FLOAT64);
  const std::vector<at::Tensor> batch = ready.inputs.make(kAll, has_double ? TENON_FLOAT64 : TENON_DTYPE_NONE);
  const Measured all = measure(ready, batch), first = measure(ready, ready.inputs.slice(batch, 0, kFirst)),
                 second = measure(ready, ready.inputs.slice(batch, kFirst, kAll));
  if (std::abs(first.weight + second.weight - all.weight) > kTolerance * all.weight)
    throw Failed(
        "the weight of a batch of {} samples is {:g}; of the first {} it is {:g}, of the others {:g}. Expected their "
        "sum: the weight is the number of items in the mean, such as that of the samples",
        kAll, all.weight, kFirst, first.weight, second.weight);
  for (size_t i = 0; i < all.values.size(); ++i) {
    const double expected = first.sum(i) + second.sum(i), found = all.sum(i);
    const double size = std::abs(first.sum(i)) + std::abs(second.sum(i)) + std::abs(found);
    if (!std::isfinite(expected) || std::abs(expected - found) <= kTolerance * size) continue;
    throw Failed(
        "{} of a batch of {} samples is {:g}; of the first {} it is {:g} with the weight {:g}, of the others {:g} with "
        "the weight {:g}. Expected their weighted mean, {:g}, so that training does not depend on the sizes of "
        "batches, micro-batches and processes: return the mean over the items, and their number as the weight. A loss "
        "that compares the samples of a batch can declare an exception (tenon/draft/validation.h)",
        i == 0 ? "the loss" : "the part " + ready.loss.part_names()[i - 1], kAll, all.values[i], kFirst,
        first.values[i], first.weight, second.values[i], second.weight, expected / all.weight);
  }
}

void check_loss_gradients(Session& session) {
  const ReadyLoss ready(session);
  const std::vector<at::Tensor> inputs = ready.make_inputs(3);
  const at::Tensor value = ready.forward(inputs).loss;
  record_call("backward through the loss", "");
  value.backward();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (find_non_finite({inputs[i].grad()}))
      throw Failed("the gradient with respect to " + ready.loss.inputs()[i].name + " is NaN or infinite");
}

void check_loss_gradcheck(Session& session) {
  const ReadyLoss ready(session);
  if (!takes(ready.loss.inputs(), TENON_FLOAT64))
    throw Skipped("not all of its inputs accept float64, which gradcheck needs for its precision");
  const std::vector<at::Tensor> inputs = ready.make_inputs(3, TENON_FLOAT64);
  std::vector<NamedVariable> variables;
  // An input that gets no gradient is a target.
  const at::Tensor value = ready.forward(inputs).loss;
  if (value.scalar_type() != at::kDouble) throw Skipped("the loss has a smaller dtype although its inputs are float64");
  value.backward();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].grad().defined()) variables.push_back({ready.loss.inputs()[i].name, inputs[i]});
  require_equal_gradients(
      session, [&] { return ready.forward(inputs).loss.reshape({}); }, variables);
}

void check_loss_autocast(Session& session) {
  const ReadyLoss ready(session);
  bool tried = false;
  for (const int32_t dtype : {TENON_FLOAT32, TENON_BFLOAT16}) {
    if (!takes(ready.loss.inputs(), dtype)) continue;
    tried = true;
    const std::vector<at::Tensor> inputs = ready.make_inputs(3, dtype);
    const Bfloat16Autocast autocast;
    const at::Tensor value = ready.forward(inputs).loss;
    require_scalar_loss({value, {}, 0, {}}, "under bfloat16 autocast ");
    if (find_non_finite({value})) throw Failed("under bfloat16 autocast the loss is NaN or infinite");
    value.backward();
  }
  if (!tried) throw Skipped("its inputs are neither float32 nor bfloat16");
}

}  // namespace

void use_loss(Session& session) {
  const ReadyLoss ready(session);
  for (const int64_t batch : {2, 3}) ready.forward(ready.make_inputs(batch)).loss.backward();
}

std::vector<Check> loss_checks() {
  return {{"ports", Level::contract, {"create"}, check_loss_ports},
          {"forward", Level::contract, {"ports"}, check_loss_forward},
          {"parts", Level::contract, {"forward"}, check_parts},
          {"scalar-loss", Level::contract, {"forward"}, check_scalar_loss},
          {"finite-loss", Level::contract, {"scalar-loss"}, check_finite_loss},
          {"weight", Level::contract, {"forward"}, check_weight},
          {"repeats", Level::training, {"finite-loss"}, check_loss_repeats},
          {"adds-up", Level::training, {"repeats", "weight", "extensions"}, check_loss_adds_up},
          {"gradients", Level::training, {"finite-loss"}, check_loss_gradients},
          {"gradcheck", Level::training, {"repeats", "gradients"}, check_loss_gradcheck},
          {"autocast", Level::training, {"gradients"}, check_loss_autocast}};
}

}  // namespace tenon::validation
