// Reads arbitrary text as the manifest of a checkpoint. Wrong text is refused with Error(checkpoint), and a manifest
// that is accepted is printed as one with the same content and names files within the checkpoint's folder.
#include <string>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(manifest) {
  using namespace tenon;
  try {
    const auto manifest = artifacts::parse_checkpoint_manifest(fuzz::as_text(input), "manifest.json");
    for (const artifacts::CheckpointFile& file : manifest.files)
      fuzz::require(!file.name.empty() && file.name.find('/') == std::string::npos && file.name != "." &&
                    file.name != "..");
    const std::string printed = artifacts::format_checkpoint_manifest(manifest);
    const auto again = artifacts::parse_checkpoint_manifest(printed, "manifest.json");
    fuzz::require(artifacts::format_checkpoint_manifest(again) == printed);
  } catch (const support::Error& error) {
    fuzz::require(error.kind() == support::ErrorKind::checkpoint);
  }
}
