#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "framework/components/kinds/model.h"
#include "framework/components/tensors/graph_leaves.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/torchscript_words.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/checks/gradcheck.h"
#include "framework/validation/checks/tensor_checks.h"
#include "framework/validation/session/child_process.h"

namespace tenon::validation {

namespace {

components::Model build_model(const Session& session) {
  components::Model model(session.component(), session.plan());
  torch::manual_seed(session.seed());
  model.build();
  return model;
}

// A built model with inputs that it accepts.
struct ReadyModel {
  explicit ReadyModel(const Session& of) : session(of) {}

  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> all;
    for (const components::NamedTensor& named : model.tensors()) all.push_back(named.tensor);
    return all;
  }

  bool takes_double() const {
    return takes_where_floating(model.inputs(), TENON_FLOAT64) && takes(model.outputs(), TENON_FLOAT64);
  }
  // In place, so that a model that keeps its tensors itself also computes in float64.
  void convert_tensors_to_double() const {
    for (at::Tensor& tensor : tensors())
      if (at::isFloatingType(tensor.scalar_type())) tensor.set_data(tensor.detach().to(at::kDouble));
  }

  // Operators that sample from ATen's generator get the same numbers each time.
  std::vector<at::Tensor> forward(bool training, const std::vector<at::Tensor>& given) const {
    return forward_with(tensors(), training, given);
  }
  std::vector<at::Tensor> forward_with(const std::vector<at::Tensor>& weights, bool training,
                                       const std::vector<at::Tensor>& given) const {
    torch::manual_seed(session.seed());
    return model.forward_unchecked(make_context(session, training), given, components::to_handles(weights));
  }
  std::vector<at::Tensor> forward_checked(bool training, const std::vector<at::Tensor>& given) const {
    torch::manual_seed(session.seed());
    return model.forward(make_context(session, training), given);
  }

  const Session& session;
  const components::Model model = build_model(session);
  const RandomInputs inputs{model.inputs(), session.seed(), "forward",
                            [this](const std::vector<at::Tensor>& given, bool&) {
                              forward(/*training=*/false, given);
                              return true;
                            }};
};

// The sum of all floating-point outputs, each weighted with random factors, as a float64 scalar.
at::Tensor weigh_outputs(const std::vector<at::Tensor>& outputs, uint64_t seed) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  torch::manual_seed(seed);
  for (const at::Tensor& output : outputs)
    if (output.defined() && at::isFloatingType(output.scalar_type()))
      sum = sum + (output.to(at::kDouble) * (at::rand(output.sizes(), at::kDouble) + 0.5)).sum();
  return sum;
}

void check_model_ports(Session& session) {
  require_same_ports<tenon_model>(session);
  const components::Model model(session.component(), session.plan());
}

void check_build(Session& session) {
  const components::Model model = build_model(session);
  for (const components::NamedTensor& named : model.tensors())
    if (const std::string word = formats::find_torchscript_word(named.name); !word.empty()) {
      session.warn(
          fmt::format("the tensor {} has \"{}\" in its name, a word of TorchScript's language: the model cannot be "
                      "exported as TorchScript",
                      named.name, word));
      break;
    }
  session.require_no_violation("build", "build");
}

// The results of a sample do not depend on the others of its batch.
void check_results(Session& session) {
  const ReadyModel ready(session);
  if (ready.model.results().empty()) throw Skipped(std::string("it does not provide them (") + TENON_RESULTS + ")");
  const at::NoGradGuard no_grad;
  constexpr int64_t kBatch = 3;
  const std::vector<at::Tensor> outputs = ready.forward(/*training=*/false, ready.inputs.make(kBatch));
  if (std::ranges::any_of(outputs, [](const at::Tensor& one) { return one.dim() == 0 || one.size(0) != kBatch; }))
    throw Skipped("an output has no dimension of the batch");
  const components::ComputedResults whole = ready.model.compute_results({}, outputs);
  for (int64_t row = 0; row < kBatch; ++row) {
    std::vector<at::Tensor> of_row;
    for (const at::Tensor& output : outputs) of_row.push_back(output.narrow(0, row, 1));
    const components::ComputedResults alone = ready.model.compute_results({}, of_row);
    for (size_t i = 0; i < whole.values.size(); ++i) {
      const auto take = [&](const components::ComputedResults& results, int64_t at) {
        const at::Tensor values = results.values[i][at];
        return results.lengths[i].defined() ? values.narrow(0, 0, results.lengths[i][at].item<int64_t>()) : values;
      };
      const at::Tensor expected = take(whole, row), found = take(alone, 0);
      if (expected.sizes() != found.sizes() || !at::allclose(found, expected, 1e-5, 1e-6, /*equal_nan=*/true))
        throw Failed(
            "the result {} of a sample alone differs from that in a batch; expected rows that do not depend on "
            "each other",
            ready.model.results()[i].name);
    }
  }
}

void check_model_forward(Session& session) {
  const ReadyModel ready(session);
  for (const int64_t batch : {2, 3})
    for (const bool training : {false, true}) ready.forward(training, ready.inputs.make(batch));
}

void check_outputs(Session& session) {
  const ReadyModel ready(session);
  for (const int64_t batch : {2, 3})
    for (const bool training : {false, true}) {
      const std::vector<at::Tensor> outputs = ready.forward_checked(training, ready.inputs.make(batch));
      for (size_t i = 0; i < outputs.size(); ++i)
        if (!outputs[i].device().is_cpu())
          throw Failed("forward returns {} on {}; expected the CPU, where the inputs are",
                       ready.model.outputs()[i].name, outputs[i].device().str());
    }
}

void check_finite_outputs(Session& session) {
  const ReadyModel ready(session);
  for (const bool training : {false, true})
    if (const auto output = find_non_finite(ready.forward(training, ready.inputs.make(3))))
      throw Failed("forward returns NaN or infinity in {} for normally distributed inputs",
                   ready.model.outputs()[*output].name);
}

// Calls forward with other inputs in between. The model must not remember them.
void check_model_repeats(Session& session) {
  const at::NoGradGuard no_grad;
  const ReadyModel ready(session);
  const std::vector<at::Tensor> inputs = ready.inputs.make(2);
  const std::vector<at::Tensor> first = ready.forward(/*training=*/false, inputs);
  ready.forward(/*training=*/false, ready.inputs.make(3));
  const std::vector<at::Tensor> second = ready.forward(/*training=*/false, inputs);
  if (!std::ranges::equal(first, second, &at::Tensor::equal))
    throw Failed(
        "forward returns different outputs for the same inputs in evaluation mode, after other inputs in between; "
        "expected them to depend only on its arguments and the frame's tensors");
}

// Equal weights in other tensors must give the same outputs, even when the first tensors are overwritten. They are
// overwritten with NaN, which cannot be mistaken for a rounding error.
void check_frame_tensors(Session& session) {
  const at::NoGradGuard no_grad;
  const ReadyModel ready(session);
  if (ready.model.tensors().empty()) throw Skipped("it has no tensors");
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : ready.tensors()) copies.push_back(tensor.clone());
  const std::vector<at::Tensor> inputs = ready.inputs.make(2);
  const std::vector<at::Tensor> expected = ready.forward(/*training=*/false, inputs);
  for (at::Tensor& tensor : ready.tensors())
    if (at::isFloatingType(tensor.scalar_type())) tensor.fill_(std::nan(""));
  std::vector<at::Tensor> found;
  try {
    found = ready.forward_with(copies, /*training=*/false, inputs);
  } catch (const support::Error& error) {
    throw Skipped(std::string("it rejects tensors other than those it was built with: ") + error.what());
  }
  // Weights at other addresses may be summed in another order.
  const auto are_close = [](const at::Tensor& left, const at::Tensor& right) {
    return at::allclose(left, right, /*rtol=*/1e-3, /*atol=*/1e-5);
  };
  if (!std::ranges::equal(expected, found, are_close))
    throw Failed(
        "forward returns different outputs when its weights are copied to other tensors of the frame and the first "
        "ones are overwritten; expected it to compute with frame->tensors, not with handles that it kept");
}

// The largest difference relative to the largest value. Integers and bools are compared as numbers.
double find_relative_difference(const at::Tensor& left, const at::Tensor& right) {
  if (left.numel() == 0) return 0;
  const at::Tensor one = left.to(at::kDouble), other = right.to(at::kDouble);
  const double size = at::maximum(one.abs(), other.abs()).max().item<double>();
  return size == 0 ? 0 : (one - other).abs().max().item<double>() / size;
}

// In evaluation mode, a prediction must not depend on the other samples of its batch.
void check_sample_by_sample(Session& session) {
  const at::NoGradGuard no_grad;
  const ReadyModel ready(session);
  ready.inputs.require_slices();
  constexpr int64_t kSamples = 3;
  // Batches of other sizes are summed in another order, and a deep network increases the differences.
  const double tolerance = ready.takes_double() ? 1e-8 : 1e-3;
  if (ready.takes_double()) ready.convert_tensors_to_double();
  const std::vector<at::Tensor> batch =
      ready.inputs.make(kSamples, ready.takes_double() ? TENON_FLOAT64 : TENON_DTYPE_NONE);
  const std::vector<at::Tensor> expected = ready.forward(/*training=*/false, batch);
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    std::vector<at::Tensor> alone;
    try {
      alone = ready.forward(/*training=*/false, ready.inputs.slice(batch, sample, sample + 1));
    } catch (const support::Error& error) {
      throw Failed("forward does not accept a single sample in evaluation mode: {}", error.what());
    }
    for (size_t i = 0; i < alone.size(); ++i) {
      const components::Port& port = ready.model.outputs()[i];
      const std::optional<int64_t> dimension = find_batch_dimension(port);
      if (!dimension || !alone[i].defined() || !expected[i].defined()) continue;
      const at::Tensor within = expected[i].narrow(*dimension, sample, 1);
      // Lists of different lengths are padded to the longest of the batch.
      if (within.sizes() != alone[i].sizes()) continue;
      if (const double difference = find_relative_difference(within, alone[i]); !(difference <= tolerance))
        throw Failed(
            "in evaluation mode, {} of sample {} depends on the other samples of its batch: alone it differs by {:.2g} "
            "of its largest value. Expected each sample to be computed for itself; statistics over the batch belong "
            "to training. A model that compares the samples of a batch can declare an exception "
            "(tenon/draft/validation.h)",
            port.name, sample, difference);
    }
  }
}

void check_model_gradients(Session& session) {
  const ReadyModel ready(session);
  const at::Tensor sum = weigh_outputs(ready.forward(/*training=*/true, ready.inputs.make(3)), session.seed());
  std::vector<at::Tensor> gradients;
  std::vector<std::string> names;
  std::string without;
  if (sum.requires_grad()) {
    if (const std::string unregistered = components::find_unregistered(sum, ready.tensors()); !unregistered.empty())
      throw Failed(unregistered);
    record_call("backward through the outputs", "");
    sum.backward();
  }
  for (const components::NamedTensor& declared : ready.model.tensors()) {
    if (!declared.trainable) continue;
    names.push_back(declared.name);
    gradients.push_back(declared.tensor.grad());
    if (!gradients.back().defined()) without += (without.empty() ? "" : ", ") + declared.name;
  }
  if (names.empty()) throw Skipped("it has no trainable tensor");
  if (!sum.requires_grad()) throw Failed("no output of forward in training mode depends on the trainable tensors");
  if (const auto found = find_non_finite(gradients))
    throw Failed("the gradient of {} is NaN or infinite", names[*found]);
  if (!without.empty()) session.warn("trainable tensors without a gradient: " + without);
}

void check_model_gradcheck(Session& session) {
  const ReadyModel ready(session);
  if (!ready.takes_double())
    throw Skipped("not all of its ports accept float64, which gradcheck needs for its precision");
  ready.convert_tensors_to_double();
  std::vector<at::Tensor> inputs = ready.inputs.make(3, TENON_FLOAT64);
  std::vector<NamedVariable> variables;
  for (const components::NamedTensor& declared : ready.model.tensors())
    if (declared.trainable) variables.push_back({declared.name, declared.tensor});
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].scalar_type() == at::kDouble)
      variables.push_back({"the input " + ready.model.inputs()[i].name, inputs[i].requires_grad_(true)});
  const std::vector<at::Tensor> outputs = ready.forward(/*training=*/true, inputs);
  for (const at::Tensor& output : outputs)
    if (at::isFloatingType(output.scalar_type()) && output.scalar_type() != at::kDouble)
      throw Skipped(fmt::format("an output has the dtype {} although all inputs and tensors are float64",
                                c10::toString(output.scalar_type())));
  if (!weigh_outputs(outputs, session.seed()).requires_grad()) throw Skipped("no output has a gradient");
  // The factors are the same each time.
  require_equal_gradients(
      session, [&] { return weigh_outputs(ready.forward(/*training=*/true, inputs), session.seed()); }, variables);
}

void check_model_autocast(Session& session) {
  const ReadyModel ready(session);
  if (!takes_where_floating(ready.model.inputs(), TENON_FLOAT32)) throw Skipped("its inputs are not float32");
  const std::vector<at::Tensor> inputs = ready.inputs.make(3, TENON_FLOAT32);
  const Bfloat16Autocast autocast;
  const std::vector<at::Tensor> outputs = ready.forward_checked(/*training=*/true, inputs);
  if (const auto found = find_non_finite(outputs))
    throw Failed("under bfloat16 autocast forward returns NaN or infinity in {}", ready.model.outputs()[*found].name);
  if (const at::Tensor sum = weigh_outputs(outputs, session.seed()); sum.requires_grad()) sum.backward();
}

}  // namespace

void use_model(Session& session) {
  const ReadyModel ready(session);
  {
    const at::NoGradGuard no_grad;
    ready.forward(/*training=*/false, ready.inputs.make(2));
  }
  const at::Tensor sum = weigh_outputs(ready.forward(/*training=*/true, ready.inputs.make(3)), session.seed());
  if (sum.requires_grad()) sum.backward();
}

std::vector<Check> model_checks() {
  return {{"ports", Level::contract, {"create"}, check_model_ports},
          {"build", Level::contract, {"ports"}, check_build},
          {"forward", Level::contract, {"build"}, check_model_forward},
          {"outputs", Level::contract, {"forward"}, check_outputs},
          {"finite-outputs", Level::contract, {"outputs"}, check_finite_outputs},
          {"results", Level::contract, {"finite-outputs", "extensions"}, check_results},
          {"repeats", Level::training, {"finite-outputs"}, check_model_repeats},
          {"sample-by-sample", Level::training, {"repeats", "extensions"}, check_sample_by_sample},
          {"frame-tensors", Level::training, {"repeats"}, check_frame_tensors},
          {"gradients", Level::training, {"finite-outputs"}, check_model_gradients},
          {"gradcheck", Level::training, {"repeats", "gradients"}, check_model_gradcheck},
          {"autocast", Level::training, {"gradients"}, check_model_autocast}};
}

}  // namespace tenon::validation
