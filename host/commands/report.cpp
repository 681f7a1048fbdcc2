// `host report RUN [RUN ...]`: plots the curves of runs on an HTML page.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_run.h"
#include "framework/reporting/report/report_page.h"
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

po::options_description make_report_options() {
  po::options_description options = no_options();
  auto add = options.add_options();
  add("output", po::value<std::string>()->value_name("FILE"),
      "page to write; default for a single run: report.html in its folder");
  return options;
}

int report(const Arguments& arguments) {
  std::vector<std::string> folders = arguments.positional();
  for (std::string& folder : folders) folder = artifacts::find_run(folder).string();
  const std::string output = arguments.text("output");
  if (folders.size() > 1 && output.empty()) arguments.refuse("report of several runs has no --output");
  if (output.empty()) {
    reporting::write_report(folders.front());
    reporting::write_output("%s\n", artifacts::RunFolder{folders.front()}.report_file().c_str());
    return 0;
  }
  std::vector<reporting::ReadRun> runs;
  for (const std::filesystem::path folder : folders) runs.emplace_back(folder);
  artifacts::write_file_durably(output, make_report_page(runs), support::ErrorKind::configuration);
  reporting::write_output("%s\n", output.c_str());
  return 0;
}

}  // namespace

extern const Command report_command{
    .name = "report",
    .arguments = "RUN [RUN ...]",
    .needed = "",
    .purpose = "plot the curves of runs on an HTML page",
    .details = "Plots the curves of a run, or of several runs side by side, on an HTML page that needs no network.",
    .page = "guides/report.md",
    .make_options = make_report_options,
    .run = report};

}  // namespace tenon::host
