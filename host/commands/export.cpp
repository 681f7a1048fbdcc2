// `host export`: writes trained weights, the model as TorchScript, or a model file.
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/pipeline/build/build_components.h"
#include "framework/pipeline/build/infer_sizes.h"
#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/tools/export_metadata.h"
#include "framework/pipeline/tools/model_file.h"
#include "framework/pipeline/tools/save_weights.h"
#include "framework/pipeline/tools/trace_model.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/training/open_evaluation.h"
#include "host/training/open_run.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

constexpr auto kKind = support::ErrorKind::configuration;

// Returns the dtype of exported floating-point tensors. Undefined: unchanged.
at::ScalarType choose_dtype(const std::string& dtype, const config::RunPlan& plan) {
  if (dtype == "fp16") return at::kHalf;
  if (dtype == "bf16") return at::kBFloat16;
  if (dtype == "fp32") return at::kFloat;
  return plan.train.precision == config::Precision::bf16_true ? at::kBFloat16 : at::ScalarType::Undefined;
}

// The dataset that describes the model's inputs, and what is missing without it.
struct DescribingData {
  std::optional<components::Dataset> dataset;
  std::string reason;  // why there is none
};

// The data need not exist on the machine that exports weights.
DescribingData open_describing_data(const OpenedRunFile& opened, const config::RunPlan& run) {
  try {
    return {open_dataset(opened.catalogue, find_dataset_or_first(run, "")), ""};
  } catch (const support::Error& error) {
    return {std::nullopt, error.what()};
  }
}

// The archive that describes the model of the run file.
std::filesystem::path find_archive(const OpenedRunFile& opened) {
  const config::ModelSection& model = opened.plan.model;
  for (const config::ParamSchema& param :
       opened.catalogue.find(config::ComponentKind::model, model.use).schema.params) {
    const auto value = model.params.find(param.name);
    if (param.type != config::ParamType::path || value == model.params.end()) continue;
    std::filesystem::path path = std::get<std::string>(value->second);
    if (path.extension() == ".pt2") return path;
  }
  throw_command_line_error(
      "--output names a .pt2 archive, but the model {} does not come from one; expected a name that ends in "
      ".safetensors or .pt",
      model.use);
}

// Builds only the model. Writes safetensors, a model file, or a copy of the archive of the model.
int export_tensors(const Arguments& arguments, const std::filesystem::path& output) {
  const OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::no);
  config::RunPlan plan = opened.plan;
  const bool is_archive = output.extension() == ".pt2", writes_model_file = is_model_file(output);
  const std::filesystem::path archive = is_archive ? find_archive(opened) : "";
  const artifacts::FoundWeights weights = use_weights(arguments.text("checkpoint"), plan);
  pipeline::use_sizes_of_weights(plan, opened.catalogue, artifacts::read_model_sizes(weights.file));
  const DescribingData data = open_describing_data(opened, plan);
  if (writes_model_file && !data.dataset)
    throw support::Error(kKind, "{}: a model file describes its inputs by the data, which cannot be opened: {}",
                         output.string(), data.reason);
  if (data.dataset) pipeline::use_sizes_of_data(plan, opened.catalogue, *data.dataset);
  const components::Model model = pipeline::build_initial_model(plan, opened.catalogue);
  if (const config::ClassNames names = artifacts::read_class_names(weights.file); !names.empty())
    plan.data.class_names = names;
  std::map<std::string, std::string> more = {
      {pipeline::kExportMetadata,
       pipeline::format_export_metadata(plan, model, data.dataset ? &*data.dataset : nullptr, {})},
      {artifacts::kModelSizes,
       artifacts::format_model_sizes(pipeline::list_model_sizes(plan.model, model.component()))}};
  if (const artifacts::FittedData fitted = artifacts::read_fitted_data(weights.file); !fitted.empty())
    more.emplace(artifacts::kFittedData, artifacts::format_fitted_data(fitted));
  size_t count = 0;
  if (writes_model_file) {
    count = pipeline::write_model_file(
        output, {.schemas = opened.catalogue,
                 .plan = plan,
                 .model = model,
                 .data = *data.dataset,
                 .step = weights.step,
                 .epoch = weights.epoch,
                 .bundled_plugins = components::list_bundled_directories(support::find_installation()),
                 .metadata = more});
  } else if (is_archive) {
    std::vector<components::NamedTensor> tensors = model.tensors();
    tensors.insert(tensors.end(), model.tied_tensors().begin(), model.tied_tensors().end());
    count = pipeline::save_archive(archive, output, tensors, more);
  } else {
    count = pipeline::save_weights(output, model.tensors(), choose_dtype(arguments.text("dtype"), plan),
                                   plan.data.class_names, more);
  }
  reporting::write_output("weights {}\n{}: {} tensors, {}\n", weights.file.string(), output.string(), count,
                          support::format_bytes(support::read_file_size(output, kKind)));
  if (!data.dataset)
    reporting::write_output(
        "the metadata lack the data's shapes and preprocessing, because the data cannot be opened: {}\n", data.reason);
  return 0;
}

// The model inputs of the first batches, and the outputs of the first one.
struct FirstBatches {
  std::vector<pipeline::ModelInputs> inputs;
  std::vector<at::Tensor> outputs;
};

FirstBatches read_batches(OpenedEvaluation& evaluation, size_t most) {
  FirstBatches batches;
  pipeline::BoundDataset& data = *evaluation.parts().validation.front();
  pipeline::predict(evaluation.parts(), data, evaluation.context(), [&](const pipeline::Prediction& prediction) {
    if (batches.inputs.empty())
      for (const at::Tensor& output : prediction.batch_tensors.outputs) batches.outputs.push_back(output.clone());
    pipeline::ModelInputs& inputs = batches.inputs.emplace_back();
    for (const at::Tensor& input : data.model.front().gather(prediction.batch_tensors)) inputs.push_back(input.clone());
    return batches.inputs.size() < most;
  });
  if (batches.inputs.empty())
    throw support::Error(support::ErrorKind::data, data.name() + ": has no sample for tracing the model");
  return batches;
}

int export_torchscript(const Arguments& arguments, const std::filesystem::path& output) {
  if (arguments.has("dtype"))
    throw_command_line_error("--dtype works only for .safetensors; TorchScript keeps the dtypes of the model: omit it");
  // The trace records the model alone, without the device, precision and memory format of the run.
  RunFile file = arguments.run_file();
  for (const char* setting : {"run.device=cpu", "train.precision=fp32", "train.memory_format=contiguous"})
    file.overrides.emplace_back(setting);
  constexpr size_t kBatches = 2;
  OpenedEvaluation evaluation(file, {arguments.text("checkpoint"), arguments.text("data")},
                              OpenedEvaluation::Of::outputs);
  const FirstBatches batches = read_batches(evaluation, kBatches);
  const components::Dataset& data = evaluation.parts().validation.front()->feed.dataset();
  const std::string description =
      pipeline::format_export_metadata(evaluation.plan(), evaluation.parts().model, &data, batches.outputs);
  std::map<std::string, std::string> files = {{pipeline::kExportMetadata, description}};
  if (const artifacts::FittedData fitted = artifacts::read_fitted_data(evaluation.weights().file); !fitted.empty())
    files.emplace(artifacts::kFittedData, artifacts::format_fitted_data(fitted));
  const std::string traced = pipeline::trace_model(evaluation.parts().model, batches.inputs, files);
  artifacts::write_file_durably(output, traced, kKind);
  reporting::write_output("weights {}\n{}: TorchScript, traced on {} of {}; outputs verified against the model\n",
                          evaluation.describe_weights(), output.string(),
                          support::format_count(batches.inputs.front().front().size(0), "sample"), data.name());
  return 0;
}

void add_export_options(AddOption& add) {
  add_run_file_options(add);
  add_checkpoint_option(add);
  add("output", text_value("FILE"),
      "output file: .tenon for the model with its weights and the description of its inputs, .safetensors for the "
      "weights, .pt for the model as TorchScript, .pt2 for the archive of an exported model");
  add("dtype", text_value("DTYPE"), "dtype of the floating-point tensors: fp32, fp16 or bf16");
  add("data", text_value("NAME"),
      "for TorchScript: dataset that provides the batch for tracing; default: the first validation data");
}

int export_weights(const Arguments& arguments) {
  const std::filesystem::path output = arguments.text("output");
  arguments.choice("dtype", {"fp32", "fp16", "bf16"});
  const std::string extension = output.extension();
  if (extension == ".pt") return export_torchscript(arguments, output);
  const bool writes_model_file = is_model_file(output);
  if (extension != ".safetensors" && extension != ".pt2" && !writes_model_file)
    throw_command_line_error("--output is \"{}\"; expected a name that ends in .tenon, .safetensors, .pt or .pt2",
                             output.string());
  if (arguments.has("data"))
    throw_command_line_error(
        "--data works only for TorchScript, which is traced with it; weights need no data: omit it");
  if (extension != ".safetensors" && arguments.has("dtype"))
    throw_command_line_error(
        "--dtype works only for .safetensors; {}: omit it",
        writes_model_file ? "a model file has the dtypes of the run" : "the graph of an archive fixes its dtypes");
  return export_tensors(arguments, output);
}

}  // namespace

extern const Command export_command{
    .name = "export",
    .needed = "--config FILE --output FILE",
    .purpose = "export trained weights or the model for other programs",
    .details =
        "Writes the model with its weights as a model file for the library libtenon_predictor, as TorchScript or "
        "as a .pt2 archive, or the weights as safetensors.",
    .page = "guides/checkpoint_tools.md",
    .add_options = add_export_options,
    .run = export_weights,
    .is_for_one_process = true};

}  // namespace tenon::host
