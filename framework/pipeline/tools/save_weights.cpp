#include "framework/pipeline/tools/save_weights.h"

#include <torch/types.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/state/stored_tensors.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

constexpr auto kKind = support::ErrorKind::configuration;

using components::NamedTensor;

at::Tensor convert(const std::string& name, const at::Tensor& tensor, at::ScalarType dtype) {
  if (dtype == at::ScalarType::Undefined || !tensor.is_floating_point()) return tensor;
  at::Tensor converted = tensor.to(dtype);
  if (!converted.isfinite().equal(tensor.isfinite()))
    throw support::Error(kKind, name + " has numbers that are too large for " +
                                    components::dtype_name(components::to_dtype(dtype)) +
                                    " and would become infinite; expected a dtype with their range: bf16 or fp32");
  return converted;
}

bool is_tied(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) || (a.numel() > 0 && a.const_data_ptr() == b.const_data_ptr() && a.sizes() == b.sizes() &&
                          a.strides() == b.strides() && a.scalar_type() == b.scalar_type());
}

// Maps each omitted name of a shared tensor to the name that is kept.
std::map<std::string, std::string> find_tied(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, std::string> kept;
  for (const NamedTensor& named : tensors) {
    std::string first = named.name;
    for (const NamedTensor& other : tensors)
      if (is_tied(other.tensor, named.tensor)) first = std::min(first, other.name);
    if (first != named.name) kept.emplace(named.name, first);
  }
  return kept;
}

}  // namespace

size_t save_weights(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors, at::ScalarType dtype,
                    const config::ClassNames& class_names, const std::map<std::string, std::string>& more) {
  const std::map<std::string, std::string> tied = find_tied(tensors);
  HostCopies copies(/*shares=*/true);
  std::vector<std::pair<std::string, at::Tensor>> copied;
  for (const NamedTensor& named : tensors)
    if (!tied.contains(named.name)) copied.emplace_back(named.name, copies.add(named.name, named.tensor));
  copies.submit();
  copies.wait();
  std::vector<artifacts::TensorView> views;
  for (auto& [name, tensor] : copied) {
    tensor = convert(name, tensor, dtype);
    views.push_back(make_view(name, tensor));
  }
  artifacts::Metadata metadata = artifacts::make_weights_metadata(class_names);
  metadata.insert(tied.begin(), tied.end());
  metadata.insert(more.begin(), more.end());
  artifacts::write_safetensors(file, views, metadata, kKind);
  return views.size();
}

}  // namespace tenon::pipeline
