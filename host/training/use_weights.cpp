#include "host/training/use_weights.h"

#include <tenon/draft/fitted_data.h>

#include <string>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/kinds/prepare_dataset.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::host {

namespace {

bool has_fitted_data(const components::Component& dataset) {
  return components::extension_of<tenon_fitted_data>(dataset, TENON_FITTED_DATA) != nullptr;
}

}  // namespace

void use_fitted_data(config::RunPlan& plan, const artifacts::FittedData& of_weights) {
  const auto use = [&](config::NamedDataset& dataset) {
    if (const auto found = of_weights.find(dataset.use); found != of_weights.end()) dataset.fitted = found->second;
  };
  use(plan.data.train);
  for (config::ScheduledDataset& later : plan.data.scheduled_train) use(later);
  for (auto* const datasets : {&plan.data.validation, &plan.data.test})
    for (config::NamedDataset& dataset : *datasets) use(dataset);
}

TrainingData describe_training_data(const components::Dataset& train, const config::ClassNames& names,
                                    const config::RunPlan& plan) {
  return {.numbering = {names, plan.data.class_names.empty() ? "the training data" : plan.data.class_names_source},
          .use = plan.data.train.use,
          .fitted = train.read_fitted_data()};
}

TrainingData open_training_data(const config::RunPlan& plan, const components::Catalogue& catalogue) {
  const config::NamedDataset& named = plan.data.train;
  const components::Component& component = catalogue.find(config::ComponentKind::dataset, named.use);
  components::prepare_dataset(component, named);
  const components::Dataset train(component, named);
  const data::ClassNumbers classes(train, {plan.data.class_names, plan.data.class_names_source}, named.place);
  return describe_training_data(train, classes.names(), plan);
}

void use_training_data(config::NamedDataset& dataset, const TrainingData& train) {
  if (dataset.use == train.use && dataset.fitted.empty()) dataset.fitted = train.fitted;
}

void use_training_data(config::NamedDataset& dataset, const config::RunPlan& plan,
                       const components::Catalogue& catalogue) {
  const config::NamedDataset& train = plan.data.train;
  if (dataset.name == train.name || dataset.use != train.use || !dataset.fitted.empty()) return;
  if (has_fitted_data(catalogue.find(config::ComponentKind::dataset, train.use)))
    use_training_data(dataset, open_training_data(plan, catalogue));
}

void report_unknown_fitted_data(const std::filesystem::path& weights, const config::NamedDataset& dataset,
                                const components::Catalogue& catalogue) {
  const components::Component& component = catalogue.find(config::ComponentKind::dataset, dataset.use);
  if (!dataset.fitted.empty() || !has_fitted_data(component)) return;
  support::log_warning(weights.string() + ": does not have the vocabulary, columns or statistics of the " +
                       dataset.use + " data that it was trained on, so " + dataset.name +
                       " derives them from the data that it reads; expected weights of a run that trained on " +
                       dataset.use + ": make sure that both have the same");
}

void compare_fitted_data(const std::filesystem::path& weights, const artifacts::FittedData& of_data) {
  if (weights.empty()) return;
  for (const auto& [dataset, bytes] : artifacts::read_fitted_data(weights)) {
    const auto found = of_data.find(dataset);
    if (found != of_data.end() && found->second != bytes)
      support::log_warning(weights.string() +
                           ": was trained with another vocabulary, or other columns or statistics, " + "of the " +
                           dataset +
                           " data than the training data have, so its inputs had other meanings; "
                           "expected the same, unless the layers that read them are trained again");
  }
}

artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan) {
  artifacts::FoundWeights weights = artifacts::find_weights(checkpoint, plan.run.output_dir, plan.run.name);
  // The initial weights are needed for the parameters that a checkpoint leaves out.
  if (artifacts::find_excluded_tensors(weights.file).tensors.empty()) plan.model.weights.clear();
  plan.model.checkpoint = weights.file;
  use_fitted_data(plan, artifacts::read_fitted_data(weights.file));
  return weights;
}

}  // namespace tenon::host
