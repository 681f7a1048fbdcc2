#include "framework/pipeline/state/saved_state.h"

#include "framework/pipeline/state/stored_tensors.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

template <class Map>
const typename Map::mapped_type& find(const Map& map, const std::string& name, const char* what) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  throw support::Error(
      support::ErrorKind::checkpoint,
      "the checkpoint has no " + (what + (" " + name)) +
          ", which is needed to resume; expected a checkpoint of this Tenon version and the same run file");
}

}  // namespace

void SavedState::put_bytes(const std::string& name, std::string_view bytes) { tensors[name] = to_byte_tensor(bytes); }

double SavedState::number(const std::string& name) const { return find(numbers, name, "number"); }

int64_t SavedState::count(const std::string& name) const { return static_cast<int64_t>(number(name)); }

const at::Tensor& SavedState::tensor(const std::string& name) const { return find(tensors, name, "tensor"); }

std::string SavedState::bytes(const std::string& name) const { return to_bytes(tensor(name)); }

std::vector<optimization::NamedTensor> SavedState::tensors_under(const std::string& prefix) const {
  std::vector<optimization::NamedTensor> found;
  for (auto entry = tensors.lower_bound(prefix); entry != tensors.end() && entry->first.starts_with(prefix); ++entry)
    found.push_back({entry->first.substr(prefix.size()), entry->second});
  return found;
}

}  // namespace tenon::pipeline
