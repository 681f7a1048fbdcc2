// The weights of a command such as `host evaluate`, and what they know of their training data: the names of classes,
// the folds, and what the data derived (a vocabulary, categories, statistics).
#pragma once

#include <filesystem>
#include <string>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
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

// Prepares and creates a dataset. Throws as components::Dataset does.
components::Dataset open_dataset(const components::Catalogue& catalogue, const config::NamedDataset& plan);

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

// Numbers the classes of all datasets of the plan as the weights do. `source`: of the names, for messages. Does nothing
// if the weights have no names. Throws Error(configuration) if the run file has other names for the same field.
void use_class_names(config::RunPlan& plan, const config::ClassNames& of_weights, const std::string& source);

// Warns if weights that a run starts from have the same classes as the data in another order: their outputs would first
// be wrong. `weights`: model.weights; empty: none.
void compare_class_names(const std::filesystem::path& weights, const config::ClassNames& of_data);

// Warns if classes with numbers as names are in the order of their values, and class weights or weights without names
// may have the order of their texts: "0, 1, 10, 11, 2", as torchvision's ImageFolder.
void report_number_order(const config::RunPlan& plan, const config::ClassNames& of_data);

// Warns how the classes are numbered if the data name them and the weights do not. `weights`: for the message.
void report_unnamed_classes(const std::string& weights, const config::ClassNames& of_weights,
                            const config::ClassNames& of_data);

// Adds the names that the data declare to the plan, for plan.toml. Leaves them out if they would fill the plan with
// more than 256 KiB; the weights keep them.
void add_class_names(config::RunPlan& plan, const config::ClassNames& of_data);

// Gives the plan data.folds of the run that trained the weights, from the plan.toml next to them. So an evaluation has
// the samples that the run did not train on, also if the run file names another fold or none. Data with other samples
// than those of the run are not divided. Nothing changes if there is no such file or if the run had no folds. Throws
// Error(configuration) if the run file has another data.subset_seed than the run.
void use_folds(config::RunPlan& plan, const std::filesystem::path& weights);

}  // namespace tenon::host
