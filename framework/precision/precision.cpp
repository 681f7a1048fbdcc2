#include "framework/precision/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::precision {
namespace {

using config::Precision;

constexpr int kAmpere = 8;  // compute capability 8.0 introduced bfloat16 and TensorFloat-32

// fp16 runs on every CUDA device. bf16 also runs on older devices, but with a conversion in each operator: slower than
// float32.
bool has(const support::ComputeDevice& device, Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16: return true;
    case Precision::tf32: return device.is_cuda() && device.capability_major >= kAmpere;
    case Precision::bf16:
    case Precision::bf16_true: return !device.is_cuda() || device.capability_major >= kAmpere;
  }
  return false;
}

std::string describe(const support::ComputeDevice& device) {
  if (!device.is_cuda()) return "the CPU";
  return fmt::format("{} ({}, compute capability {}.{})", to_string(device), device.name, device.capability_major,
                     device.capability_minor);
}

std::string list_supported(const support::ComputeDevice& device) {
  std::string list;
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::bf16_true, Precision::fp16})
    if (has(device, precision)) list += (list.empty() ? "\"" : ", \"") + to_string(precision) + "\"";
  return list;
}

// The values of torch.amp.GradScaler.
constexpr double kFirstScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

}  // namespace

void require_supported(Precision precision, const support::ComputeDevice& device, const std::string& place) {
  if (has(device, precision)) return;
  throw support::Error(support::ErrorKind::configuration,
                       "{}: train.precision is \"{}\", which requires a CUDA device{}; expected on {} one of {}{}",
                       place, to_string(precision), device.is_cuda() ? " of compute capability 8.0 or later" : "",
                       describe(device), list_supported(device), device.is_cuda() ? "" : " (which is slow there)");
}

void set_tensor_float_32(Precision precision) {
  const bool is_allowed = precision == Precision::tf32;
  at::globalContext().setAllowTF32CuBLAS(is_allowed);
  at::globalContext().setAllowTF32CuDNN(is_allowed);
}

std::optional<c10::ScalarType> autocast_dtype(config::Precision precision) {
  if (precision == config::Precision::bf16) return c10::ScalarType::BFloat16;
  if (precision == config::Precision::fp16) return c10::ScalarType::Half;
  return std::nullopt;
}

Autocast::Autocast(config::Precision precision, c10::DeviceType device) : device_(device) {
  const auto dtype = autocast_dtype(precision);
  is_on_ = dtype.has_value();
  if (!is_on_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  dtype_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, *dtype);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
}

LossScaler::LossScaler(const c10::Device& device)
    : scale_(at::full({}, kFirstScale, at::TensorOptions(device).dtype(at::kFloat))),
      growth_tracker_(at::zeros({}, at::TensorOptions(device).dtype(at::kInt))) {}

at::Tensor LossScaler::scale(const at::Tensor& loss) const { return loss * scale_; }

// Computed in double as in GradScaler: the reciprocal of a float may round once more.
at::Tensor LossScaler::inverse() const { return scale_.to(at::kDouble).reciprocal().to(at::kFloat); }

void LossScaler::update(const at::Tensor& overflowed) {
  at::_amp_update_scale_(scale_, growth_tracker_, overflowed, kGrowth, kBackoff, kGrowthInterval);
}

std::vector<std::pair<std::string, at::Tensor>> LossScaler::state() const {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

}  // namespace tenon::precision
