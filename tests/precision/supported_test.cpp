#include "framework/precision/precision.h"

#include <ATen/Context.h>
#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"

namespace tenon::precision {
namespace {

using config::Precision;
using support::ComputeDevice;

ComputeDevice cuda(int major, int minor) { return {ComputeDevice::Kind::cuda, 1, "A device", major, minor}; }

std::string refusal_of(Precision precision, const ComputeDevice& device) {
  try {
    require_supported(precision, device, "run.toml:3:13");
  } catch (const support::Error& error) {
    CHECK(error.kind() == support::ErrorKind::configuration);
    return error.what();
  }
  return "supported";
}

}  // namespace

TEST_CASE("the CPU supports every precision except tf32") {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::bf16_true, Precision::fp16})
    CHECK(refusal_of(precision, {}) == "supported");
  CHECK(
      refusal_of(Precision::tf32, {}) ==
      "run.toml:3:13: train.precision is \"tf32\", which requires a CUDA device; expected on the CPU one of \"fp32\", "
      "\"bf16\", \"bf16_true\", \"fp16\" (which is slow there)");
}

TEST_CASE("CUDA devices of compute capability 8.0 or later support all precisions") {
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::bf16_true, Precision::fp16}) {
    CHECK(refusal_of(precision, cuda(8, 0)) == "supported");
    CHECK(refusal_of(precision, cuda(12, 1)) == "supported");
  }
}

TEST_CASE("an older CUDA device refuses unsupported precisions and names the supported ones") {
  CHECK(refusal_of(Precision::fp32, cuda(7, 5)) == "supported");
  CHECK(refusal_of(Precision::fp16, cuda(7, 5)) == "supported");
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::bf16_true})
    CHECK(refusal_of(precision, cuda(7, 5)) == "run.toml:3:13: train.precision is \"" + to_string(precision) +
                                                   "\", which requires a CUDA device of compute capability 8.0 or "
                                                   "later; expected on cuda:1 (A device, compute "
                                                   "capability 7.5) one of \"fp32\", \"fp16\"");
}

TEST_CASE("only the tf32 precision enables TensorFloat-32 for matrix products and convolutions") {
  const at::Context& context = at::globalContext();
  set_tensor_float_32(Precision::tf32);
  CHECK(context.allowTF32CuBLAS());
  CHECK(context.allowTF32CuDNN());
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    set_tensor_float_32(precision);
    CHECK_FALSE(context.allowTF32CuBLAS());
    CHECK_FALSE(context.allowTF32CuDNN());
  }
}

}  // namespace tenon::precision
