// Writes the folders of runs, as a host would.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

struct WrittenRun {
  std::string name = "digits/2026-11-21T11-30-05";
  std::string plan = "[run]\nseed = 0\n[model]\nuse = \"mlp\"\n[optimizer]\nlr = 0.1\n";
  std::string record = "{}";              // run.json
  std::vector<std::string> history = {};  // the lines of history.jsonl
};

// Returns a line of a history: R"({"event": "validation", "epoch": 1, "step": STEP, ...})". `metrics`: JSON members.
std::string write_line(const std::string& event, int step, const std::string& metrics, double time_s = 1);

// Writes the run into the folder of the test case.
ReadRun write_run(const WrittenRun& run);

}  // namespace tenon::reporting
