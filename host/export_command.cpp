#include "host/export_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/find_weights.h"
#include "framework/pipeline/load_weights.h"
#include "framework/pipeline/predict.h"
#include "framework/pipeline/save_weights.h"
#include "framework/pipeline/trace_model.h"
#include "framework/support/error.h"
#include "framework/support/print_bytes.h"
#include "host/open_evaluation.h"
#include "host/open_run.h"
#include "host/standard_streams.h"
#include "host/text_table.h"

namespace tenon::host {

namespace {

constexpr auto kKind = support::ErrorKind::configuration;

[[noreturn]] void refuse_export(const std::string& message) { throw support::Error(kKind, "command line: " + message); }

// Returns the dtype of exported floating-point tensors. Undefined: unchanged.
at::ScalarType choose_dtype(const CommandLine& line, const config::RunPlan& plan) {
  if (line.dtype == "fp16") return at::kHalf;
  if (line.dtype == "bf16") return at::kBFloat16;
  if (line.dtype == "fp32") return at::kFloat;
  return plan.train.precision == config::Precision::bf16_true ? at::kBFloat16 : at::ScalarType::Undefined;
}

// Builds only the model. Data is not needed.
int export_safetensors(const CommandLine& line) {
  const OpenedRun opened = open_run(line, Computes::no);
  const config::RunPlan& plan = opened.plan;
  const artifacts::FoundWeights weights = artifacts::find_weights(line.checkpoint, plan.run.output_dir, plan.run.name);
  plugins::Model model(opened.catalogue.find(config::ComponentKind::model, plan.model.use), plan.model);
  model.build();
  pipeline::load_weights(weights.file, model.tensors());
  const size_t count = pipeline::save_weights(line.output, model.tensors(), choose_dtype(line, plan));
  write_output("weights %s\n%s: %zu tensors, %s\n", weights.file.c_str(), line.output.c_str(), count,
               support::print_bytes(std::filesystem::file_size(line.output)).c_str());
  return 0;
}

// Reads the model inputs of the first batches, at most `most` batches.
std::vector<pipeline::ModelInputs> read_inputs(Evaluation& evaluation, size_t most) {
  std::vector<pipeline::ModelInputs> batches;
  pipeline::BoundDataset& data = *evaluation.training().validation.front();
  pipeline::predict(evaluation.training(), data, evaluation.context(), [&](const pipeline::Prediction& prediction) {
    pipeline::ModelInputs& inputs = batches.emplace_back();
    for (const at::Tensor& input : data.model.front().gather(prediction.batch_tensors)) inputs.push_back(input.clone());
    return batches.size() < most;
  });
  if (batches.empty())
    throw support::Error(support::ErrorKind::data, data.name() + ": has no sample for tracing the model");
  return batches;
}

int export_torchscript(CommandLine line) {
  if (!line.dtype.empty())
    refuse_export("--dtype works only for .safetensors; TorchScript keeps the dtypes of the model: omit it");
  // The trace records the model alone, without the device, precision and memory format of the run.
  for (const char* setting : {"run.device=cpu", "train.precision=fp32", "train.memory_format=contiguous"})
    line.overrides.emplace_back(setting);
  constexpr size_t kBatches = 2;
  Evaluation evaluation(line, Evaluation::Of::outputs);
  const std::vector<pipeline::ModelInputs> batches = read_inputs(evaluation, kBatches);
  const std::string file = pipeline::trace_model(evaluation.training().model, batches);
  artifacts::write_file_durably(line.output, file, kKind);
  write_output("weights %s\n%s: TorchScript, traced on %lld samples of %s; outputs verified against the model\n",
               evaluation.describe_weights().c_str(), line.output.c_str(),
               static_cast<long long>(batches.front().front().size(0)),
               evaluation.training().validation.front()->name().c_str());
  return 0;
}

}  // namespace

int export_weights(const CommandLine& line) {
  if (line.output.extension() == ".pt") return export_torchscript(line);
  if (line.output.extension() != ".safetensors")
    refuse_export("--output is \"" + line.output.string() + "\"; expected a name that ends in .safetensors or .pt");
  if (!line.dataset.empty())
    refuse_export("--data works only for TorchScript, which is traced with it; weights need no data: omit it");
  return export_safetensors(line);
}

}  // namespace tenon::host
