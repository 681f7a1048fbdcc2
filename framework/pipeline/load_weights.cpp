#include "framework/pipeline/load_weights.h"

#include <torch/torch.h>

#include <set>

#include "framework/artifacts/safetensors.h"
#include "framework/plugins/tensor_handles.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

std::string describe_stored(const artifacts::TensorView& stored) {
  return std::string(plugins::dtype_name(stored.dtype)) + " " + to_string(plugins::exact_shape(stored.shape));
}

bool fits(const artifacts::TensorView& stored, const at::Tensor& tensor) {
  return stored.dtype == plugins::to_dtype(tensor.scalar_type()) && tensor.sizes() == at::IntArrayRef(stored.shape);
}

}  // namespace

void load_weights(const std::filesystem::path& path, const std::vector<plugins::NamedTensor>& tensors) {
  const artifacts::SafetensorsFile file(path);
  std::string mistakes;
  std::set<std::string> wanted;
  for (const plugins::NamedTensor& named : tensors) {
    wanted.insert(named.name);
    const artifacts::TensorView* stored = file.find(named.name);
    if (!stored)
      mistakes += "\n  " + named.name + " is missing; expected " + plugins::describe(named.tensor);
    else if (!fits(*stored, named.tensor))
      mistakes +=
          "\n  " + named.name + " is " + describe_stored(*stored) + "; expected " + plugins::describe(named.tensor);
  }
  for (const artifacts::TensorView& stored : file.tensors())
    if (!wanted.contains(stored.name)) mistakes += "\n  " + stored.name + " is not a tensor of the model";
  if (!mistakes.empty())
    throw support::Error(support::ErrorKind::checkpoint, path.string() + ": does not fit the model:" + mistakes);

  const at::NoGradGuard no_grad;
  for (const plugins::NamedTensor& named : tensors) {
    const artifacts::TensorView& stored = *file.find(named.name);
    at::Tensor copy = at::empty(stored.shape, named.tensor.scalar_type());
    if (stored.bytes > 0) std::memcpy(copy.data_ptr(), stored.data, stored.bytes);  // the file may be unaligned
    named.tensor.copy_(copy);
  }
}

}  // namespace tenon::pipeline
