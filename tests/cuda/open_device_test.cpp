#include "framework/cuda/open_device.h"

#include <doctest/doctest.h>

#include "tests/messages.h"

namespace tenon::cuda {
namespace {

using config::DeviceChoice;
using Kind = DeviceChoice::Kind;

std::string refusal_of(const std::filesystem::path& library) {
  return find_error(support::ErrorKind::configuration, [&] { open_device({Kind::cuda}, 0, library, "run.toml:2:10"); });
}

}  // namespace

TEST_CASE("the CPU needs no library") {
  const OpenedDevice opened = open_device({Kind::cpu}, 3, "missing.so", "run.toml:2:10");
  CHECK_FALSE(opened.device.is_cuda());
  CHECK(opened.library == nullptr);
}

TEST_CASE("a host without the library reports that it was built without CUDA") {
  const std::string text = refusal_of("/nowhere/libtenon_cuda.so");
  CAPTURE(text);
  CHECK(text.starts_with("run.toml:2:10: run.device is \"cuda\": /nowhere/libtenon_cuda.so: is missing"));
  CHECK(contains(text, "run scripts/dependencies --cuda"));
  CHECK(contains(text, "-DTENON_CUDA=ON reports missing parts"));
}

TEST_CASE("a library with a missing dependency is refused with its name and the command that installs it") {
  const std::string text = refusal_of(WITHOUT_DEPENDENCY);
  CAPTURE(text);
  CHECK(contains(text, "libdevice_library_dependency.so"));
  CHECK(contains(text,
                 "expected LibTorch's CUDA libraries with their dependencies: in a build from source run "
                 "scripts/dependencies --cuda"));
  CHECK(contains(text, "install the package torch"));
  CHECK(contains(text, "TENON_LIBTORCH=DIR"));
}

TEST_CASE("a library of another build is refused before it is used") {
  const std::string text = refusal_of(ANOTHER_BUILD);
  CAPTURE(text);
  CHECK(contains(text, "belongs to Tenon 0.0.1 with LibTorch " TENON_TORCH_BUILD));
  CHECK(contains(text, "install both from the same build"));
}

TEST_CASE("a library without the entry symbol is refused") {
  CHECK(contains(refusal_of(WITHOUT_ENTRY), "has no symbol tenon_cuda_device_library"));
}

}  // namespace tenon::cuda
