// Reads arbitrary bytes as the pickle of a state_dict, and as the end of its archive. Wrong bytes are refused with
// Error(checkpoint), and the tensors of an accepted pickle lie within their storages.
#include <cstdint>

#include "framework/artifacts/checkpoint/state_dict_pickle.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/files/archive_sums.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::artifacts;
using tenon::fuzz::require;

template <class Read>
void expect_refusal_or(const Read& read) {
  try {
    read();
  } catch (const tenon::support::Error& error) {
    require(error.kind() == tenon::support::ErrorKind::checkpoint);
  }
}

void check_tensor(const PickledTensor& tensor) {
  require(!find_name_error(tensor.name) && find_stored_type(tensor.dtype) != nullptr);
  require(tensor.shape.size() == tensor.strides.size());
  const auto elements = count_bytes(tensor.shape, 1);
  require(elements.has_value());
  if (*elements == 0) return;
  require(*elements <= tensor.storage_elements);
  uint64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    require(tensor.shape[i] > 0 && tensor.strides[i] >= 0);
    last += static_cast<uint64_t>(tensor.shape[i] - 1) * static_cast<uint64_t>(tensor.strides[i]);
  }
  require(last < tensor.storage_elements);
}

}  // namespace

TENON_FUZZ_TARGET(state_dict) {
  expect_refusal_or([&] {
    for (const PickledTensor& tensor : parse_state_dict(tenon::fuzz::as_text(input), "fuzzed.pth").tensors)
      check_tensor(tensor);
  });
  expect_refusal_or([&] { read_archive_sums(std::as_bytes(input), input.size() % 5, "fuzzed.pth"); });
}
