// The weights of a command such as `host evaluate`, and what their training data derived (a vocabulary, categories,
// statistics).
#pragma once

#include <filesystem>
#include <string>

#include "framework/artifacts/checkpoint/fitted_data.h"
#include "framework/artifacts/run_folder/find_weights.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/data/class_numbers.h"

namespace tenon::host {

// Finds the weights, see artifacts::find_weights(), and sets the plan to load all tensors of the model from them. The
// frozen parameters that a checkpoint leaves out come from the initial weights of the plan. The datasets of the plan
// use what the training data of the weights derived, see use_fitted_data(). Throws Error(checkpoint).
artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan);

// All datasets of the plan with these components read their samples as the training data of the weights.
void use_fitted_data(config::RunPlan& plan, const artifacts::FittedData& of_weights);

// What the training data determine for the other datasets of a run.
struct TrainingData {
  data::Numbering numbering;  // of classes
  std::string use;            // the component
  std::string fitted;         // see config::NamedDataset; empty if the component derives nothing
};

// `names`: the classes of `train`, as the plan numbers them.
TrainingData describe_training_data(const components::Dataset& train, const config::ClassNames& names,
                                    const config::RunPlan& plan);

// Opens the training data without weights. Throws as components::Dataset and data::ClassNumbers do.
TrainingData open_training_data(const config::RunPlan& plan, const components::Catalogue& catalogue);

// Another dataset of the same component reads its samples as the training data.
void use_training_data(config::NamedDataset& dataset, const TrainingData& train);

// The same, and opens the training data if the dataset is of a component that derives something.
void use_training_data(config::NamedDataset& dataset, const config::RunPlan& plan,
                       const components::Catalogue& catalogue);

// Warns if the weights do not know what the dataset of a later command would derive: they are not of a run of Tenon.
// `weights`: for the message.
void report_unknown_fitted_data(const std::filesystem::path& weights, const config::NamedDataset& dataset,
                                const components::Catalogue& catalogue);

// Warns if weights that a run starts from were trained with another vocabulary, other columns or statistics than the
// training data have. `weights`: model.weights; empty: none.
void compare_fitted_data(const std::filesystem::path& weights, const artifacts::FittedData& of_data);

}  // namespace tenon::host
