// Reads arbitrary text as the note of a plugin. Wrong text is refused with Error(plugin), and a note that is accepted
// can be printed and read again.
#include <optional>
#include <string>

#include "framework/components/loading/plugin_note.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(plugin_note) {
  using namespace tenon;
  std::optional<tenon::components::PluginDescription> plugin;
  try {
    plugin = tenon::components::parse_note("plugin.so", std::string(fuzz::as_text(input)));
  } catch (const support::Error& error) {
    fuzz::require(error.kind() == support::ErrorKind::plugin);
  }
  if (!plugin) return;
  const std::string note = tenon::components::make_note(*plugin);
  fuzz::require(tenon::components::parse_note("plugin.so", note) == plugin);
}
