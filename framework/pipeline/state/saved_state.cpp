#include "framework/pipeline/state/saved_state.h"

#include <torch/types.h>

#include <cstdint>
#include <cstring>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

template <class Map>
const typename Map::mapped_type& find(const Map& map, const std::string& name, const char* what) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  throw support::Error(support::ErrorKind::checkpoint,
                       "the checkpoint has no {}, which is needed to resume; expected a checkpoint of this Tenon "
                       "version and the same run file",
                       what + (" " + name));
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

artifacts::TensorView make_view(const std::string& name, const at::Tensor& tensor) {
  return {name, components::to_dtype(tensor.scalar_type()), tensor.sizes().vec(),
          static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

at::Tensor copy_stored(const artifacts::TensorView& stored) {
  at::Tensor tensor = at::empty(stored.shape, components::to_scalar_type(stored.dtype));
  if (stored.bytes > 0) std::memcpy(tensor.mutable_data_ptr(), stored.data, stored.bytes);
  return tensor;
}

std::vector<optimization::NamedTensor> map_tensors(std::shared_ptr<const artifacts::SafetensorsFile> file) {
  std::vector<optimization::NamedTensor> tensors;
  for (const artifacts::TensorView& stored : file->tensors()) {
    const at::ScalarType type = components::to_scalar_type(stored.dtype);
    const bool is_aligned = reinterpret_cast<uintptr_t>(stored.data) % c10::elementSize(type) == 0;
    tensors.push_back({stored.name, stored.bytes == 0 || !is_aligned
                                        ? copy_stored(stored)
                                        : at::from_blob(
                                              const_cast<std::byte*>(stored.data), stored.shape, [file](void*) {},
                                              at::TensorOptions(type))});
  }
  return tensors;
}

at::Tensor to_byte_tensor(std::string_view bytes) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::string to_bytes(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace tenon::pipeline
