#include "framework/pipeline/train_step.h"

#include <torch/torch.h>

#include <optional>

#include "framework/pipeline/check_finite.h"
#include "framework/pipeline/check_registered.h"
#include "framework/pipeline/compute_losses.h"
#include "framework/plugins/guard.h"
#include "framework/plugins/host_table.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

// The sum of the losses by their factors; undefined if none has an item. One loss of factor 1 stays as it is, with no
// operation to round it.
at::Tensor add_up(const std::vector<plugins::Loss>& losses, const ComputedLosses& computed) {
  at::Tensor total;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (computed.values[i].weight == 0) continue;
    const at::Tensor& loss = computed.results[i].loss;
    const at::Tensor part = losses[i].factor() == 1 ? loss : loss * losses[i].factor();
    total = total.defined() ? total + part : part;
  }
  return total;
}

// Under the model's name, since what fails or crashes here are gradients of its operators.
void run_backward(const plugins::Model& model, const at::Tensor& total, int64_t step) {
  std::optional<Error> of_function;  // a plugin's own gradient failed: the error names it already
  plugins::call_plugin(
      model.component(), "backward",
      [&] {
        try {
          total.backward();
        } catch (const Error& error) {
          of_function = error;
        } catch (const c10::Error& error) {
          return plugins::fail(TENON_FAILED, error.what_without_backtrace());
        }
        return tenon_status{TENON_OK};
      },
      plugins::At{"step", step});
  if (of_function) throw *of_function;
}

}  // namespace

std::vector<LossValue> train_step(Training& training, const data::Batch& batch, const plugins::RunPosition& position,
                                  const optimization::StepRates& rates, const std::function<void(Event)>& announce) {
  const int64_t step = position.step + 1;
  DataFlow& data = *training.train;
  Flow flow = data.to_flow(batch, /*training=*/true);
  flow.outputs = training.model.forward(position, data.model.front().gather(flow));
  announce(Event::forward_end);

  ComputedLosses computed = compute_losses(training, data, flow, position);
  check_losses(training, computed.values, step);
  announce(Event::loss_end);

  const at::Tensor total = add_up(training.losses, computed);
  if (total.defined()) {
    if (!total.requires_grad())
      throw Error(ErrorKind::plugin,
                  training.losses.front().component().describe() +
                      ", forward: the loss does not depend on any trainable parameter, so there is no gradient; "
                      "expected a result of operators over the model's outputs");
    if (position.step == 0) check_registered(training, total);
    run_backward(training.model, total, step);
  }
  announce(Event::backward_end);
  check_gradients(training, step);
  announce(Event::grads_ready);

  announce(Event::optimizer_before);
  if (total.defined()) training.optimizer->step(rates);
  training.optimizer->zero_grad();
  announce(Event::optimizer_after);
  return std::move(computed.values);
}

}  // namespace tenon::pipeline
