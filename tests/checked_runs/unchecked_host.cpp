// The host without the checks of dtypes and shapes: see CMakeLists.txt.
#include <exception>
#include <optional>
#include <string>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/log.h"
#include "host/command_line/registry.h"
#include "host/process/describe_failure.h"

// In place of find_mismatch().
std::optional<std::string>
ignore_pattern(const tenon::components::ShapePattern&, uint64_t, const tenon::components::Port&, tenon::components::Extents&) __asm__(
    "__wrap__ZN5tenon7plugins13find_mismatchERKNS0_12ShapePatternEmRKNS0_4PortERSt3mapINSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIcEEElSt4lessISD_ESaISt4pairIKSD_lEEE");
std::optional<std::string> ignore_pattern(const tenon::components::ShapePattern&, uint64_t,
                                          const tenon::components::Port&, tenon::components::Extents&) {
  return std::nullopt;
}

std::optional<std::string>
ignore_tensor(const at::Tensor&, const tenon::components::Port&, tenon::components::Extents&) __asm__(
    "__wrap__ZN5tenon7plugins13find_mismatchERKN2at6TensorERKNS0_4PortERSt3mapINSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIcEEElSt4lessISD_ESaISt4pairIKSD_lEEE");
std::optional<std::string> ignore_tensor(const at::Tensor&, const tenon::components::Port&,
                                         tenon::components::Extents&) {
  return std::nullopt;
}

int main(int argc, char** argv) try {
  return tenon::host::run_command(argc, argv);
} catch (const std::exception& error) {
  const tenon::host::Failure failure = tenon::host::describe_failure(error);
  tenon::support::log_error(failure.message);
  return failure.exit_code;
}
