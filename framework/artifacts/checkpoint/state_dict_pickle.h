// The pickle of a state_dict that torch.save wrote, read without creating Python objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::artifacts {

// A tensor of a pickle. Its elements are in the file's record of the storage.
struct PickledTensor {
  std::string name;
  int32_t dtype;                 // TENON_FLOAT32, ...
  std::string storage;           // the record data/<storage>
  uint64_t storage_elements;     // number of elements in the storage
  uint64_t offset;               // of the first element, in elements
  std::vector<int64_t> shape;    // every index is within the storage
  std::vector<int64_t> strides;  // in elements, not negative
};

struct PickledStateDict {
  std::vector<PickledTensor> tensors;  // in the order of the dictionary
  std::string key;  // the entry of the saved dictionary that holds them; empty: the dictionary itself
  // Other entries that hold tensors, as Python's indices: ["model_ema"]["module"].
  std::vector<std::string> others = {};
};

// Parses data.pkl of a file of torch.save, protocols 2 to 5 (docs.python.org/3/library/pickletools.html). Only tensors,
// numbers, strings, lists, tuples and dictionaries are read. Nothing is executed and no object is created: others, such
// as an argparse.Namespace, are skipped outside of the state_dict. In the state_dict they are refused by name, because
// they may be weights.
//
// The saved object is the state_dict itself, or a dictionary that has it at `state_dict_ema`, `state_dict`,
// `model_state_dict`, `model` or `model_ema`; the first of these that exists is used. Entries of the state_dict that
// are no tensors are left out. Throws Error(checkpoint) naming `file`.
PickledStateDict parse_state_dict(std::string_view pickle, const std::string& file);

}  // namespace tenon::artifacts
