// Reads arbitrary text as the index of a model with several safetensors files. Wrong text is refused as a checkpoint
// error, and an accepted index is printed as one with the same content. Its files are in the folder of the index.
#include <filesystem>

#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(weight_index) {
  using namespace tenon;
  try {
    const artifacts::WeightMap files = artifacts::read_model_index(fuzz::MemoryFile(input).path());
    for (const std::string& name : artifacts::list_names(files))
      fuzz::require(!name.empty() && (std::filesystem::path("/folder") / name).lexically_normal() == "/folder/" + name);
    const std::string printed = artifacts::format_model_index(files, 0);
    fuzz::require(artifacts::read_model_index(fuzz::MemoryFile(printed).path()) == files);
  } catch (const support::Error& error) {
    fuzz::require(error.kind() == support::ErrorKind::checkpoint);
  }
}
