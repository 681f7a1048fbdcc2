// Trains with combinations of bundled components and keys of the run file on a device, and compares with the CPU.
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "framework/support/diagnostics/error.h"
#include "tests/cuda/find_device.h"
#include "tests/cuda_standin/runs/combinations.h"

namespace tenon::standin {
namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

// Limits are so many standard deviations of errors that add up independently.
constexpr double kDeviations = 4;
// Float32 rounds in each addition of a sum. 16-bit operators round their results only.
constexpr double kTermsOfSum = 4096;

struct Tensors : std::map<std::string, at::Tensor> {
  // The 2-norm of the difference of all tensors.
  double distance(const Tensors& other) const {
    double sum = 0;
    for (const auto& [name, tensor] : *this)
      sum += (tensor.to(at::kDouble) - other.at(name).to(at::kDouble)).square().sum().item<double>();
    return std::sqrt(sum);
  }
  double norm() const {
    double sum = 0;
    for (const auto& [name, tensor] : *this) sum += tensor.to(at::kDouble).square().sum().item<double>();
    return std::sqrt(sum);
  }
};

struct Trained {
  Tensors before, after, buffers;  // trained parameters, then and now; all other tensors now
  std::vector<pipeline::RecordedLine> lines;
  int64_t replays = 0;
};

Trained train(pipeline::Setup setup, const support::ComputeDevice& device) {
  setup.device = device;
  pipeline::BuiltRun run(setup);
  Trained trained;
  for (const components::NamedTensor& named : run.training->model.tensors()) {
    if (named.trainable) trained.before[named.name] = named.tensor.detach().cpu().clone();
  }
  trained.replays = run.train().state.graph_replays;
  trained.lines = run.recorder.lines;
  // A thread writes checkpoints, so their place among the lines varies.
  std::erase_if(trained.lines, [](const auto& line) { return line.kind == pipeline::LineKind::checkpoint; });
  for (const auto& [name, tensor] : run.recorder.weights) {
    CHECK(tensor.device().is_cuda() == device.is_cuda());
    (trained.before.contains(name) ? trained.after : trained.buffers)[name] = tensor.cpu();
  }
  return trained;
}

bool has(const Combination& combination, Factor factor, const char* text) {
  return value_of(combination, factor).find(text) != std::string::npos;
}

// The unit roundoff of the computed numbers. The stand-in computes "tf32" in float32.
double roundoff_of(const Combination& combination) {
  if (has(combination, kPrecision, "bf16")) return std::ldexp(1, -8);
  return std::ldexp(1, has(combination, kPrecision, "fp16") ? -11 : -24);
}

// Whether a metric changes little if predictions do. Others count or sort predictions, or, as r2, divide by small
// numbers.
bool is_continuous(const std::string& metric) {
  for (const char* const word : {"loss", "perplexity", "mae", "rmse", "learning_rate"})
    if (metric.find(word) != std::string::npos) return true;
  return false;
}

// Metrics that count or sort predictions change if two of those are nearly equal. That is rare in float32.
struct Counted {
  int64_t compared = 0, different = 0;
};

using Values = std::map<std::string, double>;  // by metric

// The largest differences of the metrics of two runs.
Values find_differences(const Trained& a, const Trained& b) {
  Values differences;
  for (size_t i = 0; i < a.lines.size(); ++i)
    for (const auto& [name, value] : a.lines[i].metrics) {
      const double difference = std::abs(value - b.lines[i].at(name));
      if (difference > differences[name]) differences[name] = difference;
    }
  return differences;
}

// Compares a run on a device with one in float32 on the CPU. `variation`: how much metrics differ by rounding alone; 0
// if they are missing.
void check_alike(const Combination& combination, const Trained& on_device, const Trained& on_cpu,
                 const Values& variation, Counted& counted) {
  const double roundoff = roundoff_of(combination);
  const bool is_float = roundoff < 1e-6;
  // Forward rounds each product with a parameter, and its input. Backward does so twice: for both gradients.
  const double roundings = 2 * static_cast<double>(on_cpu.before.size()) * (is_float ? kTermsOfSum : 1);
  const double limit = kDeviations * roundoff * std::sqrt(roundings);
  const double update = on_cpu.after.distance(on_cpu.before), distance = on_device.after.distance(on_cpu.after);
  const double ratio = update > 0 ? distance / update : 0;
  CHECK((update > 0 || has(combination, kPrecision, "fp16")));  // the loss scale may skip all steps
  const double rounded = has(combination, kPrecision, "bf16_true") ? kSteps * roundoff * on_cpu.after.norm() : 0;
  // SGD's update has the relative error of the gradients. ReLU passes or stops those with an input of 0 but for
  // rounding: 1 of the 1,024 numbers after the smallest layers changes the gradients by 3 %. The other optimizers
  // divide by the size of gradients, so those that are 0 but for rounding change weights as much as large ones, with
  // any sign.
  const double relative = has(combination, kOptimizer, "sgd") ? std::min(0.5, std::sqrt(3) * limit + 0.05) : 0.5;
  if (update > 0) {
    // The share of the expected update in the update is 0 if it is missing, and 2 if it is doubled.
    const double made = on_device.after.distance(on_cpu.before);
    const double share = (made * made + update * update - distance * distance) / (2 * update * update);
    CHECK(std::abs(share - 1) <= relative + rounded / update);
  }
  CHECK(on_device.buffers.distance(on_cpu.buffers) <= std::max(limit, ratio) * on_cpu.buffers.norm());

  std::map<std::string, std::pair<double, double>> ranges;  // without NaN
  for (const pipeline::RecordedLine& line : on_cpu.lines)
    for (const auto& [name, value] : line.metrics) {
      if (std::isnan(value)) continue;
      auto& [smallest, largest] = ranges.try_emplace(name, value, value).first->second;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  REQUIRE(on_device.lines.size() == on_cpu.lines.size());
  for (size_t i = 0; i < on_cpu.lines.size(); ++i) {
    const pipeline::RecordedLine &line = on_device.lines[i], &expected = on_cpu.lines[i];
    CHECK(line.kind == expected.kind);
    CHECK(line.step == expected.step);
    for (const auto& [key, value] : expected.metrics) {
      const std::string& name = key;
      if (name.find("gradient_norm") != std::string::npos) continue;  // before clipping; missing in skipped steps
      CAPTURE(name);
      CAPTURE(expected.step);
      const double found = line.at(name), difference = std::abs(found - value);
      if (!is_continuous(name)) {
        if (!is_float) continue;
        ++counted.compared;
        if (!(difference <= limit) && !(std::isnan(found) && std::isnan(value))) ++counted.different;
        continue;
      }
      // With other weights, a metric differs by a part of its change in the run, which a missing update changes by all.
      const auto [smallest, largest] = ranges.at(name);
      const auto varies = variation.find(name);
      const double allowed = limit * std::max(1.0, std::abs(value)) +
                             std::max(0.1, kDeviations * ratio) * (largest - smallest) +
                             (varies == variation.end() ? 0 : kDeviations * varies->second);
      CHECK(difference <= allowed);
    }
  }
}

// The documented reason why the host refuses a run; "": it does not.
std::string expected_refusal(const Combination& combination, bool uses_graph) {
  const bool is_ctc = has(combination, kLoss, "ctc");
  if (uses_graph && has(combination, kCheckpointing, "true"))
    return "train.cuda_graph: is \"on\", but train.activation_checkpointing is true";
  if (is_ctc && has(combination, kDeterministic, "true"))
    return "ctc_loss_backward_gpu does not have a deterministic implementation";
  return uses_graph && is_ctc ? "train.cuda_graph: is \"on\", but a batch cannot be replayed: " : "";
}

std::optional<Trained> train_on_device(const Combination& combination, bool uses_graph,
                                       const support::ComputeDevice& device) {
  const std::string refusal = expected_refusal(combination, uses_graph);
  std::string message;
  try {
    const std::string graph = uses_graph ? "cuda_graph='on'" : "cuda_graph='off'";
    Trained trained = train(setup_of(combination, value_of(combination, kPrecision), graph), device);
    CHECK(refusal == "");
    CHECK((trained.replays > 0) == uses_graph);
    return trained;
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK_MESSAGE((!refusal.empty() && message.find(refusal) != std::string::npos), message);
  return std::nullopt;
}

void check(const Combination& combination, const support::ComputeDevice& device, Counted& counted) {
  const std::string description = describe(combination);
  CAPTURE(description);
  const auto usual = train_on_device(combination, false, device);
  if (usual) {
    // A loss scale skips steps, which float32 does not.
    const char* const precision = has(combination, kPrecision, "fp16") ? "precision='fp16'" : "precision='fp32'";
    const auto train_on_cpu = [&](const Combination& of) {
      return train(setup_of(of, precision, "cuda_graph='off'"), {});
    };
    const Trained on_cpu = train_on_cpu(combination);
    Values variation;
    // Lion updates by the sign of a gradient, so where it is 0 but for rounding, any metric may change. The kernels for
    // the other memory format round in another way.
    if (has(combination, kOptimizer, "lion")) {
      Combination other = combination;
      other[kFormat] = 1 - other[kFormat];
      variation = find_differences(on_cpu, train_on_cpu(other));
    }
    check_alike(combination, *usual, on_cpu, variation, counted);
  }
  if (!has(combination, kGraph, "on")) return;
  const auto replayed = train_on_device(combination, true, device);
  if (!replayed || !usual) return;
  for (const auto tensors : {&Trained::after, &Trained::buffers})
    for (const auto& [key, tensor] : (*replayed).*tensors) {
      const std::string& name = key;
      CAPTURE(name);
      CHECK(torch::equal(tensor, ((*usual).*tensors).at(name)));
    }
}

// Parts can run at the same time. `part`: from 1.
void check_part(const std::vector<Combination>& combinations, size_t part, size_t parts) {
  const auto device = tests::find_device();
  if (!device) return;
  Counted counted;
  int64_t checked = 0;
  for (size_t i = part - 1; i < combinations.size(); i += parts, ++checked) check(combinations[i], *device, counted);
  MESSAGE(checked << " combinations; " << counted.different << " of " << counted.compared
                  << " metrics that count predictions differ");
  CHECK(counted.compared > 0);
  CHECK(20 * counted.different <= counted.compared);
}

// Each model with each loss and precision, with and without deterministic operators, and with other values at random.
std::vector<Combination> list_many() {
  std::mt19937 random(1);
  std::vector<Combination> all;
  for (int model = 0; model < factors().sizes[kModel]; ++model)
    for (int loss = 0; loss < factors().sizes[kLoss]; ++loss)
      for (int precision = 0; precision < factors().sizes[kPrecision]; ++precision)
        for (int deterministic = 0; deterministic < 2; ++deterministic) {
          Combination combination(kFactorCount, -1);
          combination[kModel] = model;
          combination[kLoss] = loss;
          combination[kPrecision] = precision;
          combination[kDeterministic] = deterministic;
          combination[kGraph] = 0;  // "on", which is compared with "off"
          if (!factors().fits(kModel, model, kLoss, loss) || !factors().fits(kModel, model, kPrecision, precision))
            continue;
          REQUIRE(complete(factors(), combination, random, [](const Combination&, int, int) { return 0; }));
          all.push_back(combination);
        }
  return all;
}

}  // namespace

TEST_CASE("pairs of values, part 1 of 4") { check_part(cover_pairs(factors(), 1), 1, 4); }
TEST_CASE("pairs of values, part 2 of 4") { check_part(cover_pairs(factors(), 1), 2, 4); }
TEST_CASE("pairs of values, part 3 of 4") { check_part(cover_pairs(factors(), 1), 3, 4); }
TEST_CASE("pairs of values, part 4 of 4") { check_part(cover_pairs(factors(), 1), 4, 4); }

TEST_SUITE_BEGIN("soak");
TEST_CASE("models, losses and precisions, part 1 of 4" * doctest::skip()) { check_part(list_many(), 1, 4); }
TEST_CASE("models, losses and precisions, part 2 of 4" * doctest::skip()) { check_part(list_many(), 2, 4); }
TEST_CASE("models, losses and precisions, part 3 of 4" * doctest::skip()) { check_part(list_many(), 3, 4); }
TEST_CASE("models, losses and precisions, part 4 of 4" * doctest::skip()) { check_part(list_many(), 4, 4); }
TEST_SUITE_END();

}  // namespace tenon::standin
