// Compares our reader of safetensors with the reference package. A file that we accept has the same tensors there. A
// file that only the package accepts has one of the properties that our reader refuses on purpose.
#include <algorithm>
#include <string>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/reference_program.h"

namespace {

using namespace tenon::fuzz;
using tenon::artifacts::SafetensorsFile;
using tenon::artifacts::TensorView;

// What our reader refuses and the package accepts. The format requires { as the first byte of the header.
constexpr const char* kStricter[] = {"; expected F64, F32", "of type BOOL is",     "twice",
                                     "more than",           "has the unknown key", "does not start with {"};

std::string encode_base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < bytes.size() ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return text;
}

void check_tensor(const SafetensorsFile& file, const nlohmann::json& expected) {
  const TensorView* tensor = file.find(expected.at("name").get<std::string>());
  require(tensor != nullptr);
  require(nlohmann::json(tensor->shape) == expected.at("shape"));
  require(tenon::artifacts::find_stored_type(tensor->dtype)->name == expected.at("dtype").get<std::string>());
  require(encode_base64({tensor->data, tensor->bytes}) == expected.at("data").get<std::string>());
}

}  // namespace

TENON_FUZZ_TARGET(safetensors_like_python) {
  const auto answer = read_with_reference("safetensors", input);
  if (!answer) return;
  const MemoryFile memory(input);
  try {
    const SafetensorsFile file(memory.path());
    require(answer->contains("tensors") && answer->at("tensors").size() == file.tensors().size());
    for (const auto& tensor : answer->at("tensors")) check_tensor(file, tensor);
  } catch (const tenon::support::Error& error) {
    const std::string message = error.what();
    const auto names = [&](const char* reason) { return message.find(reason) != std::string::npos; };
    require(!answer->contains("tensors") || std::ranges::any_of(kStricter, names));
  }
}
