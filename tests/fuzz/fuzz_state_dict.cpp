// A fuzz target (see https://llvm.org/docs/LibFuzzer.html) that reads arbitrary bytes as the pickle of a state_dict,
// and as the end of its archive. The parsers must reject them with Error(checkpoint), or return tensors that lie within
// their storages.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "framework/artifacts/checkpoint/archive_sums.h"
#include "framework/artifacts/checkpoint/state_dict_pickle.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/support/error.h"

namespace {

using namespace tenon::artifacts;

void require(bool holds) {
  if (!holds) std::abort();
}

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_refusal_or([&] {
    for (const PickledTensor& tensor :
         parse_state_dict({reinterpret_cast<const char*>(data), size}, "fuzzed.pth").tensors)
      check_tensor(tensor);
  });
  expect_refusal_or([&] { read_archive_sums(std::as_bytes(std::span(data, size)), size % 5, "fuzzed.pth"); });
  return 0;
}
