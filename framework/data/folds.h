// Folds of a dataset for cross-validation, with the semantics of KFold, StratifiedKFold, GroupKFold and
// StratifiedGroupKFold of scikit-learn.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/components/kinds/dataset.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::data {

// A number for each sample; empty: none.
struct FoldKeys {
  std::vector<int64_t> labels;  // each fold has about the same share of each label
  std::vector<int64_t> groups;  // samples of a group are in one fold
};

// Returns the fold of each sample, from 0 to `count` - 1. `order`: a permutation of the samples, which decides where
// the labels and groups leave a choice. The result depends only on the arguments.
// - Without keys, and with labels: the sizes of the folds, and the numbers of each label in them, differ by one at
// most.
// - With groups: the largest group first, each goes to the smallest fold.
// - With both: the group with the most uneven labels first, each goes to the fold that makes the shares of the labels
//   most even.
// Folds may be empty if there are fewer samples or groups than folds. REQUIRES: count >= 1.
std::vector<int64_t> assign_folds(int64_t count, const std::vector<int64_t>& order, const FoldKeys& keys = {});

// Returns the samples of `named` that plan.data.folds gives to its part, in ascending order: of the samples of its
// subset. Reads each sample once if there is a field of labels or groups. Throws Error(configuration) for a field that
// the dataset does not have as one integer, and if a fold has no sample. REQUIRES: named.part is not `all`.
std::vector<int64_t> choose_fold(const components::Dataset& dataset, const config::RunPlan& plan,
                                 const config::NamedDataset& named);

}  // namespace tenon::data
