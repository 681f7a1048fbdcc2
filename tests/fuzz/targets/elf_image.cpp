// Reads arbitrary bytes as a shared library with a plugin's note. A damaged library is refused with
// std::invalid_argument, and a damaged note with Error(plugin).
#include <optional>
#include <stdexcept>
#include <string>

#include "framework/components/loading/elf_image.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon;

template <class Read>
void expect_refusal_or(const Read& read) {
  try {
    read();
  } catch (const std::invalid_argument&) {
  } catch (const support::Error& error) {
    fuzz::require(error.kind() == support::ErrorKind::plugin);
  }
}

void read_note(const tenon::components::ElfImage& image) {
  const std::optional<std::string> note = tenon::components::read_note_section(image);
  if (!note) return;
  fuzz::require(note->size() <= tenon::components::kLargestNote);
  tenon::components::parse_note("plugin.so", *note);
}

}  // namespace

TENON_FUZZ_TARGET(elf_image) {
  const fuzz::MemoryFile file(input);
  expect_refusal_or([&] {
    const tenon::components::ElfImage image(file.descriptor(), input.size());
    expect_refusal_or([&] { (void)image.needed(); });
    expect_refusal_or([&] { (void)image.exports_function("tenon_plugin_entry"); });
    expect_refusal_or([&] { read_note(image); });
  });
}
