#include "host/training/open_run.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/plugin_transforms.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "framework/formats/nearest_name.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/stage_times.h"
#include "framework/support/files/installation.h"
#include "framework/support/text/format_values.h"
#include "host/process/call_reports.h"
#include "host/process/process_setup.h"

namespace tenon::host {

namespace {

// Finds the plugins and reads their notes. Opens only those without a note.
components::Catalogue find_plugins(const RunFile& file, const config::RunConfig& config,
                                   const support::Installation& installation) {
  const auto directories =
      components::find_plugin_directories(file.plugin_directories, config::resolve_plugin_paths(config), installation);
  return components::Catalogue::look(directories, components::host_table(), components::torch_build(),
                                     config::resolve_plugin_pins(config));
}

OpenedRunFile open_read(const RunFile& file, const RunFileContents& contents, Computes computes, config::Needs needs,
                        int local_rank) {
  start_call_reports();
  if (computes == Computes::yes) pipeline::reuse_tensor_memory();
  const config::RunConfig& config = contents.config;
  const support::Installation installation = support::find_installation();
  // The device is opened before the plugins: a plugin may query LibTorch for CUDA.
  cuda::OpenedDevice device;
  if (computes == Computes::yes)
    device =
        cuda::open_device(config.declared.run.device, local_rank, installation.engine_folder / cuda::kDeviceLibraryFile,
                          to_string(config.place_of("run.device")));
  if (device.library) {
    static const pipeline::CountWaits count_waits;  // until the process ends
    device.library->warn_of_waits(true);
    pipeline::StageTimes::mark_with(device.library->stage_marker());
  }
  components::install_libtorch();
  components::Catalogue catalogue = find_plugins(file, config, installation);
  config::RunPlan plan = config::resolve_run_plan(config, catalogue, needs);
  catalogue.open_plugins_of(config::used_components(plan));
  catalogue.open_plugins_of(config::used_transforms(plan, catalogue));
  components::add_transform_names(catalogue.component_ids(config::ComponentKind::transform));
  restore_standard_streams();
  return {std::move(catalogue), std::move(plan), std::move(device), contents.model_file};
}

// Errors name the members of a model file.
template <class Work>
auto with_names_of(const pipeline::ModelFile* file, const Work& work) {
  try {
    return work();
  } catch (const support::Error& error) {
    if (!file) throw;
    throw support::Error(error.kind(), file->name_members(error.what()));
  }
}

OpenedRunFile open(const RunFile& file, Computes computes, config::Needs needs, int local_rank) {
  const RunFileContents contents = read_run_file(file);
  return with_names_of(contents.model_file.get(),
                       [&] { return open_read(file, contents, computes, needs, local_rank); });
}

}  // namespace

RunFileContents read_run_file(const RunFile& file) {
  if (!is_model_file(file.config))
    return {config::read_run_config(file.config, file.overrides, file.plugin_directories), nullptr};
  auto model_file = std::make_shared<pipeline::ModelFile>(file.config);
  return with_names_of(model_file.get(), [&]() -> RunFileContents {
    std::vector<std::string> overrides;
    for (const auto& [param, path] : model_file->open_files())
      overrides.push_back("model.params." + param + "=" + config::to_toml(path.string()));
    overrides.insert(overrides.end(), file.overrides.begin(), file.overrides.end());
    return {config::read_run_config(model_file->open(pipeline::kModelRunFile), overrides, file.plugin_directories),
            model_file};
  });
}

void check_run_file(const RunFile& file, const config::RunConfig& config) {
  components::install_libtorch();  // otherwise plugins that call its operators are refused
  config::resolve_run_plan(config, find_plugins(file, config, support::find_installation()));
}

OpenedRunFile open_run_file(const RunFile& file, Computes computes, int local_rank) {
  return open(file, computes, config::Needs::training, local_rank);
}

OpenedRunFile open_data_of_run_file(const RunFile& file) { return open(file, Computes::no, config::Needs::data, 0); }

const config::NamedDataset& find_dataset(const config::RunPlan& plan, const std::string& name) {
  std::vector<std::string> known{plan.data.train.name};
  if (name == plan.data.train.name) return plan.data.train;
  for (const auto* datasets : {&plan.data.validation, &plan.data.test})
    for (const config::NamedDataset& dataset : *datasets) {
      if (name == dataset.name) return dataset;
      known.push_back(dataset.name);
    }
  throw_command_line_error("--data is \"{}\"{}; expected a dataset of the run file", name,
                           formats::suggest_name(name, known));
}

const config::NamedDataset& find_dataset_or_first(const config::RunPlan& plan, const std::string& name) {
  if (!name.empty()) return find_dataset(plan, name);
  return plan.data.validation.empty() ? plan.data.train : plan.data.validation.front();
}

void keep_training_only(config::RunPlan& plan) {
  plan.data.validation.clear();
  plan.data.test.clear();
  plan.callbacks.clear();
  plan.checkpoint.monitor.clear();
  plan.schedule = {};
}

void prepare_profile(config::RunPlan& plan, int64_t batch_size) {
  keep_training_only(plan);
  if (batch_size > 0) plan.data.batch_size = batch_size;
  plan.data.drop_last = false;
  plan.data.scheduled_train.clear();
  plan.metrics.clear();
  plan.train.accumulate = 1;
  plan.train.average.reset();
}

std::string describe_device(const support::ComputeDevice& device) {
  return device.is_cuda() ? device.name : "the CPU, " + support::format_count(at::get_num_threads(), "thread");
}

}  // namespace tenon::host
