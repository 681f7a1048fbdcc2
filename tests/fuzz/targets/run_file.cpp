// Reads arbitrary text as a run file, and resolves it to a plan. The lines after a line `--set` are overrides. Wrong
// text is refused with Error(configuration), and a plan is printed as a run file that resolves to the same plan.
#include <string>
#include <vector>

#include "framework/config/file/format_run_plan.h"
#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "framework/support/diagnostics/error.h"
#include "tests/config/stub_schemas.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon;

std::string format_plan(const std::string& run_file, const std::vector<std::string>& overrides) {
  static const config::StubSchemas schemas;
  return config::format_run_plan(config::resolve_run_plan(config::read_run_config(run_file, overrides), schemas));
}

}  // namespace

TENON_FUZZ_TARGET(run_file) {
  std::string_view text = fuzz::as_text(input);
  const fuzz::MemoryFile run_file(fuzz::take_until(text, "\n--set\n"));
  std::vector<std::string> overrides;
  while (!text.empty()) overrides.emplace_back(fuzz::take_until(text, "\n"));
  std::string plan;
  try {
    plan = format_plan(run_file.path(), overrides);
  } catch (const support::Error& error) {
    fuzz::require(error.kind() == support::ErrorKind::configuration);
    return;
  }
  fuzz::require(format_plan(fuzz::MemoryFile(plan).path(), {}) == plan);
}
