// The counterpart of check_with_python.py:
//   safetensors_exchange write FILE      writes tensors of every dtype and kind of shape
//   safetensors_exchange copy FROM TO    reads a file and writes its tensors again
#include <tenon/abi.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/diagnostics/error.h"

namespace {

using namespace tenon::artifacts;

// The dtypes, shapes and bytes that check_with_python.py expects.
void write_example(const std::string& file) {
  constexpr const char* kTypes[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};
  const std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {
      {"scalar", {}}, {"empty", {0}},         {"empty_3d", {2, 0, 3}},
      {"odd", {3}},   {"conv", {4, 3, 5, 5}}, {"\xE5\xB1\xA4 \xC3\xA4 \"q\"", {2}}};
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorView> tensors;
  for (const std::string type_name : kTypes) {
    const StoredType type = *find_stored_type(type_name);
    for (const auto& [name, shape] : shapes) {
      auto& memory = storage.emplace_back(count_bytes(shape, type.bytes).value());
      const size_t modulus = type.dtype == TENON_BOOL ? 2 : 120;
      for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(7 * i % modulus);
      tensors.push_back({type_name + "." + name, type.dtype, shape, memory.data(), memory.size()});
    }
  }
  write_safetensors(file, tensors, {{"format", "pt"}, {"\xC3\xA4", "line\nbreak \"quoted\""}},
                    tenon::support::ErrorKind::checkpoint);
}

void copy(const std::string& from, const std::string& to) {
  const SafetensorsFile file(from);
  write_safetensors(to, file.tensors(), file.metadata(), tenon::support::ErrorKind::checkpoint);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "write") {
      write_example(arguments[1]);
    } else if (arguments.size() == 3 && arguments[0] == "copy") {
      copy(arguments[1], arguments[2]);
    } else {
      std::fputs("usage: safetensors_exchange write FILE | copy FROM TO\n", stderr);
      return 2;
    }
  } catch (const tenon::support::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
  return 0;
}
