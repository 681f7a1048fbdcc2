#include "host/training/open_evaluation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/components/kinds/parameter_roles.h"
#include "framework/data/feed.h"
#include "framework/distributed/launch/world.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"
#include "host/training/launch.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

// The chosen data becomes validation data: it is read once, without shuffling. Test data keep their metrics.
void choose_data(config::RunPlan& plan, const std::string& name) {
  if (!name.empty()) {
    plan.data.validation = std::vector<config::NamedDataset>{find_dataset(plan, name)};
    if (std::ranges::count(plan.data.test, name, &config::NamedDataset::name) > 0)
      for (config::MetricPlan& metric : plan.metrics) metric.on_validation = metric.on_test;
  } else if (plan.data.validation.empty()) {
    throw support::Error(support::ErrorKind::configuration,
                         "{}: has no [data.validation]; expected one, or --data train{}", plan.file.string(),
                         plan.data.test.empty() ? "" : " or --data " + plan.data.test.front().name);
  }
}

// The chosen dataset reads the inputs.
void choose_inputs(OpenedRunFile& run, const OpenedEvaluation::Choice& choice) {
  config::DataSection& data = run.plan.data;
  config::NamedDataset dataset = find_dataset_or_first(run.plan, choice.dataset);
  const components::Component& component = run.catalogue.find(config::ComponentKind::dataset, dataset.use);
  const std::optional<std::string> parameter = components::find_unlabelled_parameter(component);
  if (!parameter)
    throw_command_line_error(
        "--input is given, but {} ({}) reads no data without labels; expected a dataset that does, such as "
        "image_folder, image_csv or segmentation: choose one with --data, or describe the inputs in the run file and "
        "omit --input",
        component.describe(), dataset.place);
  dataset.name = data::kInputName;
  dataset.subset = {};
  dataset.part = config::FoldPart::all;
  dataset.params[*parameter] = choice.inputs;
  data.validation = {std::move(dataset)};
  // Mixing needs labels, and is only for training.
  std::erase_if(data.batch_transforms, [](const config::BatchTransformPlan& transform) {
    return std::holds_alternative<config::MixBatch>(transform.what);
  });
}

OpenedRunFile choose(OpenedRunFile run, const OpenedEvaluation::Choice& choice, OpenedEvaluation::Of of) {
  if (choice.inputs.empty())
    choose_data(run.plan, choice.dataset);
  else
    choose_inputs(run, choice);
  run.plan.data.train.name.clear();  // All data are read as validation data, also those of the name "train".
  if (of == OpenedEvaluation::Of::outputs) {
    run.plan.losses.clear();
    run.plan.metrics.clear();
    run.plan.data.validation_limit_batches = run.plan.data.test_limit_batches = 0;
  }
  return run;
}

// The weights of a model file, unless others are named.
artifacts::FoundWeights use_weights_of(pipeline::ModelFile& file, const std::string& checkpoint,
                                       config::RunPlan& plan) {
  if (checkpoint != artifacts::kLatest) return use_weights(checkpoint, plan);
  const nlohmann::json& description = file.description();
  artifacts::FoundWeights weights;
  if (description.contains("weights"))
    weights = use_weights(file.open(description.at("weights").get<std::string>()), plan);
  const nlohmann::json& run = description.at("run");
  weights.step = run.at("step").get<int64_t>();
  weights.epoch = run.at("epoch").get<int64_t>();
  return weights;
}

artifacts::FoundWeights find_weights_for(const std::string& checkpoint, OpenedRunFile& run) {
  config::RunPlan& plan = run.plan;
  const components::Catalogue& catalogue = run.catalogue;
  artifacts::FoundWeights weights =
      run.model_file ? use_weights_of(*run.model_file, checkpoint, plan) : use_weights(checkpoint, plan);
  if (weights.file.empty()) return weights;  // the model's archive has them
  use_class_names(plan, artifacts::read_class_names(weights.file), weights.file.string());
  use_folds(plan, weights.file);
  for (const config::NamedDataset& dataset : plan.data.validation)
    report_unknown_fitted_data(weights.file, dataset, catalogue);
  return weights;
}

}  // namespace

OpenedEvaluation::OpenedEvaluation(const RunFile& file, const Choice& choice, Of of)
    : OpenedEvaluation(open_run_file(file, Computes::yes), choice, of, distributed::ProcessGroup::single()) {}

OpenedEvaluation::OpenedEvaluation(OpenedRunFile run, const Choice& choice, Of of, distributed::ProcessGroup& group)
    : run_(choose(std::move(run), choice, of)),
      weights_(find_weights_for(choice.checkpoint, run_)),
      parts_(pipeline::build_evaluation(run_.plan, run_.catalogue, run_.device.device, group)) {
  parts_.test_time_augmentation = choice.augmentation;
  // All validation data are numbered alike.
  report_unnamed_classes(weights_file().string(), run_.plan.data.class_names,
                         parts_.validation.front()->feed.class_names());
}

components::StepContext OpenedEvaluation::context() const {
  return {false, weights_.step, weights_.epoch, 0, 1, run_.plan.run.seed};
}

EvaluationOptions read_evaluation_options(const Arguments& arguments, OpenedEvaluation::Of of) {
  EvaluationOptions options{
      {arguments.run_file(), arguments.command_line()}, {arguments.text("checkpoint"), arguments.text("data")}, of};
  if (const int64_t processes = arguments.count("processes", 1); processes > 0) {
    options.file.overrides.push_back("distributed.processes=" + std::to_string(processes));
    options.processes = processes;
  }
  return options;
}

void add_processes_option(AddOption& add) {
  add("processes", integer_value("N"),
      "share the data between N processes on this machine; short for --set distributed.processes=N");
}

void add_augmentation_option(AddOption& add) {
  add("tta", text_value("flip"),
      "test-time augmentation: the mean of the outputs for each image and for its mirror image");
}

pipeline::TestTimeAugmentation read_augmentation(const Arguments& arguments) {
  return arguments.choice("tta", {"flip"}) == "flip" ? pipeline::TestTimeAugmentation::flip
                                                     : pipeline::TestTimeAugmentation::none;
}

int evaluate_in_processes(const EvaluationOptions& options, const std::function<int(OpenedEvaluation&)>& work) {
  const distributed::World world = distributed::read_world();
  if (const auto exit_code = launch_processes_if_needed(options, world)) return *exit_code;
  OpenedRunFile run = open_run_file(options.file, Computes::yes, static_cast<int>(world.local_rank));
  const auto group = join_ranks(world, run);
  try {
    OpenedEvaluation evaluation(std::move(run), options.choice, options.of, *group);
    const int exit_code = work(evaluation);
    group->barrier();
    return exit_code;
  } catch (const std::exception& error) {
    end_rank(*group, error);
  }
}

std::filesystem::path OpenedEvaluation::weights_file() const {
  const bool is_member = run_.model_file && (weights_.file.empty() || run_.model_file->has_opened(weights_.file));
  return is_member ? run_.model_file->path() : weights_.file;
}

std::string OpenedEvaluation::describe_weights() const {
  if (weights_.checkpoint.empty()) return support::show_path(weights_file());
  return fmt::format("{} (epoch {}, step {}{})", support::show_path(weights_.checkpoint), weights_.epoch, weights_.step,
                     weights_.monitor.empty() ? "" : ", the best by " + weights_.monitor);
}

}  // namespace tenon::host
