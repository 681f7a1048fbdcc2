// `host report RUN [RUN ...]`: plots the curves of runs on an HTML page.
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/reporting/report/report_page.h"
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

void add_report_options(AddOption& add) {
  add("output", text_value("FILE"), "page to write; default for a single run: report.html in its folder");
}

int report(const Arguments& arguments) {
  std::vector<std::string> folders = arguments.positional();
  for (std::string& folder : folders) folder = artifacts::find_run(folder).string();
  const std::string output = arguments.text("output");
  if (folders.size() > 1 && output.empty()) arguments.refuse("report of several runs has no --output");
  if (output.empty()) {
    reporting::write_report(folders.front());
    reporting::write_output("{}\n", artifacts::RunFolder{folders.front()}.report_file().string());
    return 0;
  }
  std::vector<reporting::ReadRun> runs;
  for (const std::filesystem::path folder : folders) runs.emplace_back(folder);
  artifacts::write_file_durably(output, make_report_page(runs), support::ErrorKind::configuration);
  reporting::write_output("{}\n", output);
  return 0;
}

}  // namespace

extern const Command report_command{
    .name = "report",
    .arguments = "RUN [RUN ...]",
    .purpose = "plot the curves of runs on an HTML page",
    .details = "Plots the curves of a run, or of several runs side by side, on an HTML page that needs no network.",
    .page = "guides/report.md",
    .add_options = add_report_options,
    .run = report};

}  // namespace tenon::host
