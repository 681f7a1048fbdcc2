// Stops NaN and infinity where they arise, before they reach the weights or a checkpoint.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

// Why losses are not finite.
struct NonFiniteSource {
  std::string what;    // "data.x of train sample 11 is not finite"
  std::string advice;  // what to look for
  bool may_be_divergence = true;
};

// Searches the inputs of the model and of the losses for NaN and infinity: the fields of the data first, then the
// outputs of the model. Nothing if all losses are finite. For tensors in host memory, since it reads them.
std::optional<NonFiniteSource> find_source(const BoundDataset& data, const BatchTensors& batch_tensors,
                                           const std::vector<components::Loss::Result>& results);

// Throw Error(non_finite). The message names the step, and either the loss and its location in the run file or the
// first parameter with a non-finite gradient. `source`: nothing if unknown. `after`: text that follows the step, such
// as the number of skipped steps before it. `parameter`: "" if unknown.
[[noreturn]] void refuse_loss(const Training& training, size_t loss, double value,
                              const std::optional<NonFiniteSource>& source, int64_t step, const std::string& after);
[[noreturn]] void refuse_gradient(const Training& training, const std::string& parameter, int64_t step,
                                  const std::string& after);

// `sums`: of the first epoch. Warns of a loss without items. Throws Error(non_finite) if no loss had any:
// the model was not trained.
void check_items(const Training& training, const LossSums& sums);

// A tensor that a checkpoint would hold.
struct CheckedTensor {
  std::string name;
  at::Tensor tensor;
  bool may_be_infinite = false;
  std::string advice = {};  // for the message
};

// The first tensor that holds NaN, or infinity where it may not; null if there is none. Leaves out integers and tensors
// that only other ranks have. Synchronises with the device once.
const CheckedTensor* find_non_finite(std::span<const CheckedTensor> tensors);

// The names of the buffers that hold infinity, and no NaN: such as an attention mask. Synchronises with the device
// once.
std::set<std::string> list_infinite_buffers(std::span<const components::NamedTensor> tensors);

}  // namespace tenon::pipeline
