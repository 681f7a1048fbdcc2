// Matches the tensors of a file with the tensors of a model by PyTorch's names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

// A tensor of a model.
struct ExpectedTensor {
  std::string name;
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  // The index of this tensor under its first name among the requested tensors.
  size_t first_place;
};

enum class WeightStatus {
  loaded,       // from `stored`, with a conversion between floating-point dtypes
  older_batch,  // num_batches_tracked, missing in files of PyTorch before 0.4.1; the model keeps its value
  missing,      // not in the file
  other_shape,  // `stored` has another shape
  other_dtype   // one of the two dtypes is integer or boolean, and they differ
};

struct WeightMatch {
  size_t expected;           // index among the requested tensors
  size_t tensor;             // index of the same tensor under its first name
  const TensorView* stored;  // null: not in the file
  WeightStatus status;
};

struct MatchedWeights {
  // For each requested tensor, in order, one match, or one for each of its names in the file.
  std::vector<WeightMatch> matches;
  std::vector<const TensorView*> unexpected;

  bool is_complete() const;  // no tensor is missing, unexpected or of another shape or dtype
  // The number of tensors, each with all of its names. `status`: none counts all of them.
  size_t count(std::optional<WeightStatus> status = {}) const;
};

// Removes a prefix `module.` (DistributedDataParallel, AveragedModel) or `_orig_mod.` (torch.compile). Returns whether
// there was one.
bool remove_wrapper_prefix(std::string_view& name);

// A name in the file matches the tensor with that name. If there is none, the prefixes of wrappers are
// removed, in any order and number. Like
// torch.nn.Module.load_state_dict, it converts between floating-point dtypes. Integer and boolean dtypes must be equal.
MatchedWeights match_weights(std::span<const TensorView> stored, std::span<const ExpectedTensor> expected);

}  // namespace tenon::artifacts
