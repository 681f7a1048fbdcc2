#include "framework/pipeline/checks/advise_device.h"

#include <algorithm>
#include <optional>

#include "framework/pipeline/build/memory_format.h"

namespace tenon::pipeline {

namespace {

using config::Precision;

// Padding a small dimension, such as ten classes, costs more than it saves.
constexpr int64_t kSmall = 256;
constexpr int64_t kMultiple = 8;

// Returns "the second dimension of head.weight is 50257" for the first matrix with an unfavourable dimension.
std::optional<std::string> find_odd_matrix(const Training& training) {
  for (const components::NamedTensor& named : training.model.tensors()) {
    if (!named.trainable || named.tensor.dim() != 2) continue;
    for (int64_t i = 0; i < 2; ++i)
      if (const int64_t size = named.tensor.size(i); size >= kSmall && size % kMultiple != 0)
        return std::string("the ") + (i == 0 ? "first" : "second") + " dimension of " + named.name + " is " +
               std::to_string(size);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> advise_device(const Training& training, const support::ComputeDevice& device) {
  constexpr int kVolta = 7, kAmpere = 8;
  std::vector<std::string> advice;
  if (!device.is_cuda() || device.capability_major < kVolta) return advice;
  const Precision precision = training.plan->train.precision;
  const bool has_bf16 = device.capability_major >= kAmpere;
  if (precision == Precision::fp32)
    advice.push_back(std::string("fp32 does not use the tensor cores: try train.precision = ") +
                     (has_bf16 ? "\"bf16\", or \"tf32\", which rounds less" : "\"fp16\""));
  const bool is_half = precision != Precision::fp32 && precision != Precision::tf32;
  if (is_half && training.memory_format == config::MemoryFormat::contiguous &&
      has_convolutions(training.model.tensors()))
    advice.push_back("convolutions in 16 bits are faster with train.memory_format = \"channels_last\"");
  if (is_half)
    if (const auto odd = find_odd_matrix(training))
      advice.push_back(*odd + ": products in 16 bits are faster with multiples of 8");
  return advice;
}

}  // namespace tenon::pipeline
