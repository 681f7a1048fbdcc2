// `host export`: writes trained weights, or the model as TorchScript.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_weights.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/tools/save_weights.h"
#include "framework/pipeline/tools/trace_model.h"
#include "framework/reporting/terminal/text_table.h"
#include "framework/support/error.h"
#include "framework/support/files.h"
#include "framework/support/print_bytes.h"
#include "host/command_line/command.h"
#include "host/process/standard_streams.h"
#include "host/training/open_evaluation.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

constexpr auto kKind = support::ErrorKind::configuration;

[[noreturn]] void refuse_export(const std::string& message) { throw support::Error(kKind, "command line: " + message); }

// Returns the dtype of exported floating-point tensors. Undefined: unchanged.
at::ScalarType choose_dtype(const std::string& dtype, const config::RunPlan& plan) {
  if (dtype == "fp16") return at::kHalf;
  if (dtype == "bf16") return at::kBFloat16;
  if (dtype == "fp32") return at::kFloat;
  return plan.train.precision == config::Precision::bf16_true ? at::kBFloat16 : at::ScalarType::Undefined;
}

// Builds only the model. Data is not needed.
int export_safetensors(const Arguments& arguments, const std::filesystem::path& output) {
  const OpenedRun opened = open_run(arguments.run_file(), Computes::no);
  const config::RunPlan& plan = opened.plan;
  const artifacts::FoundWeights weights =
      artifacts::find_weights(arguments.text("checkpoint"), plan.run.output_dir, plan.run.name);
  plugins::Model model(opened.catalogue.find(config::ComponentKind::model, plan.model.use), plan.model);
  model.build();
  pipeline::load_weights(weights.file, model.tensors());
  config::ClassNames class_names = artifacts::read_class_names(weights.file);
  if (class_names.empty()) class_names = plan.data.class_names;
  const size_t count =
      pipeline::save_weights(output, model.tensors(), choose_dtype(arguments.text("dtype"), plan), class_names);
  write_output("weights %s\n%s: %zu tensors, %s\n", weights.file.c_str(), output.c_str(), count,
               support::print_bytes(support::read_file_size(output, kKind)).c_str());
  return 0;
}

// Reads the model inputs of the first batches, at most `most` batches.
std::vector<pipeline::ModelInputs> read_inputs(Evaluation& evaluation, size_t most) {
  std::vector<pipeline::ModelInputs> batches;
  pipeline::BoundDataset& data = *evaluation.parts().validation.front();
  pipeline::predict(evaluation.parts(), data, evaluation.context(), [&](const pipeline::Prediction& prediction) {
    pipeline::ModelInputs& inputs = batches.emplace_back();
    for (const at::Tensor& input : data.model.front().gather(prediction.batch_tensors)) inputs.push_back(input.clone());
    return batches.size() < most;
  });
  if (batches.empty())
    throw support::Error(support::ErrorKind::data, data.name() + ": has no sample for tracing the model");
  return batches;
}

int export_torchscript(const Arguments& arguments, const std::filesystem::path& output) {
  if (arguments.has("dtype"))
    refuse_export("--dtype works only for .safetensors; TorchScript keeps the dtypes of the model: omit it");
  // The trace records the model alone, without the device, precision and memory format of the run.
  RunFile file = arguments.run_file();
  for (const char* setting : {"run.device=cpu", "train.precision=fp32", "train.memory_format=contiguous"})
    file.overrides.emplace_back(setting);
  constexpr size_t kBatches = 2;
  Evaluation evaluation(file, {arguments.text("checkpoint"), arguments.text("data")}, Evaluation::Of::outputs);
  const std::vector<pipeline::ModelInputs> batches = read_inputs(evaluation, kBatches);
  std::map<std::string, std::string> extra_files;
  if (const config::ClassNames& names = evaluation.plan().data.class_names; !names.empty())
    extra_files.emplace("class_names.json", artifacts::print_class_names(names));
  const std::string traced = pipeline::trace_model(evaluation.parts().model, batches, extra_files);
  artifacts::write_file_durably(output, traced, kKind);
  write_output("weights %s\n%s: TorchScript, traced on %lld samples of %s; outputs verified against the model\n",
               evaluation.describe_weights().c_str(), output.c_str(),
               static_cast<long long>(batches.front().front().size(0)),
               evaluation.parts().validation.front()->name().c_str());
  return 0;
}

po::options_description make_export_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("output", po::value<std::string>()->value_name("FILE"),
      "output file: .safetensors for the weights, .pt for the model as TorchScript");
  add("dtype", po::value<std::string>()->value_name("DTYPE"),
      "dtype of the floating-point tensors: fp32, fp16 or bf16");
  add("data", po::value<std::string>()->value_name("NAME"),
      "for TorchScript: dataset that provides the batch for tracing; default: the first validation data");
  return options;
}

int export_weights(const Arguments& arguments) {
  const std::filesystem::path output = arguments.text("output");
  arguments.choice("dtype", {"fp32", "fp16", "bf16"});
  if (output.extension() == ".pt") return export_torchscript(arguments, output);
  if (output.extension() != ".safetensors")
    refuse_export("--output is \"" + output.string() + "\"; expected a name that ends in .safetensors or .pt");
  if (arguments.has("data"))
    refuse_export("--data works only for TorchScript, which is traced with it; weights need no data: omit it");
  return export_safetensors(arguments, output);
}

}  // namespace

extern const Command export_command{
    .name = "export",
    .arguments = "",
    .needed = "--config FILE --output FILE",
    .purpose = "export trained weights or the model for Python",
    .details = "Writes the weights as safetensors, or the model with its weights as TorchScript.",
    .page = "checkpoint_tools.md",
    .make_options = make_export_options,
    .run = export_weights,
    .is_for_one_process = true};

}  // namespace tenon::host
