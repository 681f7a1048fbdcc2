#include "host/report_command.h"

#include <cstdio>
#include <vector>

#include "framework/artifacts/durable_file.h"
#include "host/report/png_plots.h"
#include "host/report/report_page.h"
#include "host/standard_streams.h"

namespace tenon::host {

int report(const CommandLine& line) {
  if (line.png) require_png_converter("command line: --png");
  if (line.output.empty()) {
    write_report(line.runs.front(), line.png);
    write_output("%s\n", artifacts::RunFolder{line.runs.front()}.report_file().c_str());
    return 0;
  }
  std::vector<ReadRun> runs;
  for (const std::filesystem::path& folder : line.runs) runs.emplace_back(folder);
  artifacts::write_file_durably(line.output, make_report_page(runs), support::ErrorKind::configuration);
  write_output("%s\n", line.output.c_str());
  return 0;
}

}  // namespace tenon::host
