#include "framework/pipeline/build/build_components.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/components/kinds/dataset.h"
#include "framework/config/file/usable_resources.h"
#include "framework/formats/strings.h"
#include "framework/pipeline/build/build_divided.h"
#include "framework/pipeline/build/check_storable.h"
#include "framework/pipeline/build/infer_sizes.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/build/memory_format.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/threads/spin_limiter.h"
#include "framework/precision/precision.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

uint64_t torch_seed(uint64_t seed, support::StreamPurpose purpose) { return support::derive_seed(seed, purpose, 0, 0); }

c10::Device to_device(const support::ComputeDevice& device) {
  return device.is_cuda() ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index))
                          : c10::Device(c10::kCPU);
}

// Must be called before any computation on the device: cuBLAS and LibTorch read their settings once.
void prepare_cuda(const config::RunPlan& plan) {
  at::Context& context = at::globalContext();
  precision::set_tensor_float_32(plan.train.precision);
  const bool is_deterministic = plan.run.deterministic != config::Determinism::off;
  // A fixed workspace size makes cuBLAS sum in a fixed order. The value is from its documentation. A value set by the
  // user is kept.
  if (is_deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  context.setDeterministicCuDNN(is_deterministic);
  context.setBenchmarkCuDNN(plan.train.cudnn_benchmark == config::CudnnBenchmark::on);
  if (!plan.train.cudnn_attention) context.setSDPUseCuDNN(false);
}

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value;
}

void start_operator_threads(int64_t count) {
  require_threads(count);
  at::set_num_threads(static_cast<int>(count));
}

// By default LibTorch uses one thread per core in the process's affinity mask. It ignores CPU quotas, which make the
// kernel pause threads in the middle of their work, and the run's other processes on this machine.
void set_operator_threads(int64_t threads, int64_t local_processes) {
  if (threads > 0) return start_operator_threads(threads);
  if (is_set("OMP_NUM_THREADS") || is_set("MKL_NUM_THREADS")) return;
  const int64_t cores = config::count_usable_cores(local_processes);
  if (cores < at::get_num_threads()) start_operator_threads(cores);
}

void prepare_libtorch(const config::RunSection& run, int64_t local_processes) {
  // Threads inherit this setting when they are started, so set it before LibTorch has any.
  if (!at::globalContext().setFlushDenormal(run.flush_denormal) && run.flush_denormal)
    throw Error(ErrorKind::configuration,
                "run.flush_denormal: is true, which this processor does not support; expected false");
  set_operator_threads(run.threads, local_processes);
  limit_spinning(at::get_num_threads());
  support::log_info("LibTorch operators use " + support::format_count(at::get_num_threads(), "thread"));
  using config::Determinism;
  at::globalContext().setDeterministicAlgorithms(run.deterministic != Determinism::off,
                                                 /*warn_only=*/run.deterministic == Determinism::warn);
  at::globalContext().setDeterministicFillUninitializedMemory(run.deterministic == Determinism::on);
}

// The shape, strides and dtype of a tensor that another rank has.
at::Tensor make_meta(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

at::Tensor make_without_storage(const at::Tensor& meta, const c10::Device& device) {
  const at::Tensor tensor = at::empty_strided(meta.sizes(), meta.strides(), meta.options().device(device));
  free_storage(tensor);
  return tensor;
}

// The tensor objects stay the same for all holders; only their memory changes.
void convert(const std::vector<components::NamedTensor>& tensors, config::Precision precision,
             config::MemoryFormat format, const c10::Device& device) {
  const bool is_bf16 = precision == config::Precision::bf16_true;
  const bool is_channels_last = format == config::MemoryFormat::channels_last;
  for (const components::NamedTensor& named : tensors) {
    at::Tensor tensor = named.tensor;
    at::Tensor converted = has_storage(tensor) ? tensor.detach().to(device) : make_meta(tensor);
    if (is_bf16 && converted.is_floating_point()) converted = converted.to(at::kBFloat16);
    if (is_channels_last && converted.dim() == 4) converted = converted.contiguous(at::MemoryFormat::ChannelsLast);
    if (converted.is_meta()) converted = make_without_storage(converted, device);
    if (!converted.is_same(tensor)) tensor.set_data(converted);
  }
}

// Downloads, unpacks and indexes files where a dataset needs it. One process of each machine does it.
void prepare_data(const config::DataSection& data, const components::Catalogue& catalogue,
                  distributed::ProcessGroup& group, bool trains) {
  std::vector<const config::ComponentPlan*> prepared;
  const auto add = [&](const config::ComponentPlan& dataset) {
    if (components::has_preparation(catalogue.find(ComponentKind::dataset, dataset.use))) prepared.push_back(&dataset);
  };
  if (trains) add(data.train);
  if (trains) std::ranges::for_each(data.scheduled_train, add);
  std::ranges::for_each(data.validation, add);
  if (trains) std::ranges::for_each(data.test, add);
  if (prepared.empty()) return;
  group.first_on_machine([&] {
    for (const config::ComponentPlan* dataset : prepared)
      components::prepare_dataset(catalogue.find(ComponentKind::dataset, dataset->use), *dataset);
  });
}

void log_sizes(const std::vector<std::string>& sizes, const std::string& source) {
  if (!sizes.empty()) support::log_info("from {}: {}", source, formats::join(sizes));
}

// The plan with the sizes that the run file leaves out. A training has those of its data, because weights may be from
// other data. `opened`: the dataset, if it was opened.
config::RunPlan complete_sizes(config::RunPlan plan, const components::Catalogue& catalogue, bool trains, bool logs,
                               std::unique_ptr<components::Dataset>& opened) {
  if (list_open_sizes(plan, catalogue).empty()) return plan;
  const std::filesystem::path weights = plan.model.checkpoint.empty() ? plan.model.weights : plan.model.checkpoint;
  const auto use_weights = [&] {
    if (weights.empty()) return;
    const auto set = use_sizes_of_weights(plan, catalogue, artifacts::read_model_sizes(weights));
    if (logs) log_sizes(set, weights.string());
  };
  if (!trains) use_weights();
  const config::NamedDataset* dataset = trains ? &plan.data.train : nullptr;
  if (!trains && !plan.data.validation.empty()) dataset = &plan.data.validation.front();
  if (dataset && !list_open_sizes(plan, catalogue).empty()) {
    opened = std::make_unique<components::Dataset>(catalogue.find(ComponentKind::dataset, dataset->use), *dataset);
    const auto set = use_sizes_of_data(plan, catalogue, *opened);
    if (logs) log_sizes(set, "the data");
  }
  if (trains) use_weights();
  return plan;
}

}  // namespace

components::Model build_initial_model(const config::RunPlan& plan, const components::Catalogue& catalogue,
                                      distributed::ProcessGroup* divided_over) {
  // Seed before create, because a native model initialises its tensors in its constructor. The tensors are created on
  // the CPU, so that a seed gives the same weights on any device.
  const auto create = [&] {
    torch::manual_seed(torch_seed(plan.run.seed, support::StreamPurpose::initial_weights));
    return components::Model(catalogue.find(ComponentKind::model, plan.model.use), plan.model);
  };
  // Divided before weights are read, or any memory of a device is used.
  components::Model model = divided_over ? build_divided(create, plan, *divided_over) : create();
  if (!divided_over) {
    model.build();
    check_storable(model.tensors(), plan.model.place + ": " + model.component().describe());
  }
  std::vector<components::NamedTensor> tensors = model.tensors();
  tensors.insert(tensors.end(), model.tied_tensors().begin(), model.tied_tensors().end());
  config::ModelSection built = plan.model;  // without the weights that are not loaded yet
  built.weights.clear();
  if (!plan.model.weights.empty())
    load_weights(plan.model.weights, tensors,
                 {.match = plan.model.weights_match,
                  .exclude = plan.model.weights_exclude,
                  .rename = plan.model.weights_rename,
                  .initial_weights = describe_initial_weights(built, model.component()),
                  .model = &plan.model});
  if (!plan.model.checkpoint.empty())
    load_weights(plan.model.checkpoint, tensors,
                 {.initial_weights = describe_initial_weights(plan.model, model.component()), .is_of_run = true});
  return model;
}

components::Model build_model(const config::RunPlan& plan, const components::Catalogue& catalogue,
                              const c10::Device& device, int64_t rank, distributed::ProcessGroup* divided_over) {
  components::Model model = build_initial_model(plan, catalogue, divided_over);
  convert(model.tensors(), plan.train.precision,
          choose_memory_format(plan.train, model.tensors(), model.needs_contiguous(), device), device);
  // Random numbers from here on (dropout) do not depend on how many the initialisation sampled. They differ between
  // ranks; so far all ranks used the same seed.
  torch::manual_seed(torch_seed(plan.run.seed + static_cast<uint64_t>(rank), support::StreamPurpose::training));
  return model;
}

Evaluation build_components(const config::RunPlan& given, const components::Catalogue& catalogue,
                            const support::ComputeDevice& compute_device, distributed::ProcessGroup& group,
                            bool trains) {
  prepare_libtorch(given.run, group.world().local_size);
  precision::require_supported(given.train.precision, compute_device, given.train.precision_place);
  if (compute_device.is_cuda()) prepare_cuda(given);
  const c10::Device device = to_device(compute_device);
  prepare_data(given.data, catalogue, group, trains);
  std::unique_ptr<components::Dataset> opened;
  const auto completed =
      std::make_shared<const config::RunPlan>(complete_sizes(given, catalogue, trains, group.rank() == 0, opened));
  const config::RunPlan& plan = *completed;
  const bool divides = trains && plan.distributed.shard == config::Shard::parameters;
  Evaluation evaluation{completed, build_model(plan, catalogue, device, group.rank(), divides ? &group : nullptr)};
  evaluation.first_dataset = std::move(opened);
  evaluation.device = device;
  evaluation.precision = plan.train.precision;
  evaluation.memory_format =
      choose_memory_format(plan.train, evaluation.model.tensors(), evaluation.model.needs_contiguous(), device);
  evaluation.group = &group;
  evaluation.numbering = {plan.data.class_names, plan.data.class_names_source};
  for (const config::LossPlan& loss : plan.losses)
    evaluation.losses.emplace_back(catalogue.find(ComponentKind::loss, loss.use), loss);
  evaluation.metrics = MetricSet(MetricSet::Data::validation, plan, catalogue, evaluation.losses, device);
  return evaluation;
}

// Benchmarking again for each new shape would take longer than it saves.
void choose_cudnn_benchmark(const config::RunPlan& plan, const std::vector<components::SampleField>& fields) {
  if (plan.train.cudnn_benchmark != config::CudnnBenchmark::automatic) return;
  const bool varies = std::ranges::any_of(fields, [](const auto& field) { return field.is_varying(); });
  at::globalContext().setBenchmarkCuDNN(!varies && plan.run.deterministic == config::Determinism::off);
}

std::unique_ptr<BoundDataset> build_data(Evaluation& evaluation, const components::Catalogue& catalogue,
                                         const config::NamedDataset& given, const MetricSet& metrics) {
  const config::RunPlan& plan = *evaluation.plan;
  config::NamedDataset dataset = given;
  const auto fitted = evaluation.fitted_data.find(dataset.use);
  if (fitted != evaluation.fitted_data.end()) dataset.fitted = fitted->second;
  const data::Share share{evaluation.group->rank(), evaluation.group->size()};
  components::Dataset opened = evaluation.first_dataset
                                   ? std::move(*evaluation.first_dataset)
                                   : components::Dataset(catalogue.find(ComponentKind::dataset, dataset.use), dataset);
  evaluation.first_dataset.reset();
  auto bound =
      std::make_unique<BoundDataset>(std::move(opened), plan, dataset, share, evaluation.device, &evaluation.numbering);
  const auto& fields = bound->transforms.fields();
  bound->model.push_back(connect_model(evaluation.model, plan.model, bound->name(), fields));
  for (size_t i = 0; i < evaluation.losses.size(); ++i)
    bound->losses.push_back(connect(evaluation.losses[i].inputs(), evaluation.losses[i].component().describe(),
                                    plan.losses[i], evaluation.model, fields));
  bound->metrics = metrics.connect_all(evaluation.model, fields);
  if (plan.data.batch_transforms.empty()) {
    bound->is_read.resize(fields.size());
    for (const auto* wirings : {&bound->model, &bound->losses, &bound->metrics})
      for (const Wiring& wiring : *wirings)
        for (const Source& source : wiring.sources())
          if (source.kind == Source::Kind::field || source.kind == Source::Kind::lengths)
            bound->is_read[source.index] = true;
  }
  return bound;
}

void build_validation_data(Evaluation& evaluation, const components::Catalogue& catalogue) {
  for (const config::NamedDataset& dataset : evaluation.plan->data.validation)
    evaluation.validation.push_back(build_data(evaluation, catalogue, dataset, evaluation.metrics));
}

}  // namespace tenon::pipeline
