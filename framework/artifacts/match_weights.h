// Which tensor of a file goes into which tensor of a model, by PyTorch's names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

// A tensor that a model has.
struct WantedTensor {
  std::string name;
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  size_t first_place;  // of the tensor among those wanted under its first name: its own, unless it has several
};

enum class WeightFate {
  loaded,       // from `stored`, converted where the dtypes are two floating ones
  other_name,   // not in the file, but the same tensor is loaded under another name: tied weights, stored once
  older_batch,  // num_batches_tracked, which files from before PyTorch 0.4.1 lack; the model keeps its own
  missing,      // not in the file
  other_shape,  // `stored` has another one
  other_dtype   // one of the two is an integer or boolean, and the other is not the same
};

struct WeightMatch {
  size_t wanted;             // place among those wanted
  const TensorView* stored;  // null: the file has none
  WeightFate fate;
};

struct MatchedWeights {
  std::vector<WeightMatch> matches;  // one for each wanted tensor, in order
  std::vector<const TensorView*> unexpected;

  bool is_complete() const;  // nothing is missing, unexpected or of another shape or dtype
  size_t count(WeightFate fate) const;
};

// A name in the file stands for the tensor of that name; where there is none, for what is left of it without the
// prefixes `module.` (DistributedDataParallel, AveragedModel) and `_orig_mod.` (torch.compile), in any order and
// number. As torch.nn.Module.load_state_dict does, floating dtypes are converted into each other; of integers and
// booleans the dtype must be the same.
MatchedWeights match_weights(std::span<const TensorView> stored, std::span<const WantedTensor> wanted);

}  // namespace tenon::artifacts
