// Tests `--trace`: a timeline for Perfetto and Chrome.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/end_to_end/hosted_run.h"

namespace trace_test {

using namespace tenon::end_to_end;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

Outcome trace(const fs::path& output, const std::string& steps, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = joined(
      {"--config", kDigits, "--trace", steps, "--set", "run={name=\"traced\", output_dir=\"" + output.string() + "\"}"},
      more);
  // With prefetch=1 the batch of step 6 is read when that of step 5 is in use, and not earlier.
  for (const char* setting :
       {"train={steps=12}", "data.batch_size=8", "data.workers=1", "data.prefetch=1", "data.train.subset=20%"})
    arguments.insert(arguments.end(), {"--set", setting});
  return run_host(arguments);
}

// Reads the complete events and checks the required keys: name, process, thread, time and duration.
std::vector<Json> read_whole_events(const fs::path& file) {
  const Json trace = Json::parse(read_file(file));
  REQUIRE(trace["traceEvents"].is_array());
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    REQUIRE(event["ph"].is_string());
    REQUIRE(event.contains("pid"));
    if (event["ph"] != "X") continue;
    REQUIRE(event["name"].is_string());
    REQUIRE(event.contains("tid"));
    REQUIRE(event["ts"].is_number());
    REQUIRE(event["dur"].is_number());
    REQUIRE(event["dur"].get<double>() >= 0);
    events.push_back(event);
  }
  return events;
}

int64_t count(const std::vector<Json>& events, const std::string& name) {
  return std::ranges::count_if(events, [&](const Json& event) { return event["name"] == name; });
}

bool is_within(const Json& inner, const Json& outer) {
  constexpr double kSlack = 200;  // microseconds; the profiler uses a different clock
  const double start = outer["ts"], end = start + outer["dur"].get<double>();
  const double inner_start = inner["ts"], inner_end = inner_start + inner["dur"].get<double>();
  return inner_start >= start - kSlack && inner_end <= end + kSlack;
}

}  // namespace

TEST_CASE("the requested steps are traced: stages, operators, data workers") {
  const fs::path output = make_empty_folder("trace");
  require_success(trace(output, "steps=4..6"));
  const std::vector<Json> events = read_whole_events(find_run_folder(output, "traced") / "trace.json");
  CHECK(count(events, "forward") == 3);
  CHECK(count(events, "backward") == 3);
  CHECK(count(events, "aten::addmm") >= 3 * 2);
  CHECK(count(events, "read samples") >= 1);
  std::set<Json> threads, processes;
  std::map<std::string, Json> first;
  for (const Json& event : events) {
    first.emplace(event["name"], event);
    if (event["cat"] == "tenon") processes.insert(event["pid"]);
    if (event["name"] == "forward" || event["name"] == "read samples") threads.insert(event["tid"]);
  }
  CHECK(threads.size() == 2);
  CHECK(processes.size() == 1);
  // Events have the same clock and thread: the first matrix product belongs to the first forward.
  CHECK(first["aten::addmm"]["tid"] == first["forward"]["tid"]);
  CHECK(is_within(first["aten::addmm"], first["forward"]));
}

TEST_CASE("a run that ends within the steps has a partial trace, and one that ends before logs a warning") {
  const fs::path output = make_empty_folder("trace_ends");
  CHECK(trace(output, "steps=11..20").exit_code == 0);
  CHECK(count(read_whole_events(find_run_folder(output, "traced") / "trace.json"), "forward") == 2);
  const fs::path other = make_empty_folder("trace_never");
  const Outcome never = require_success(trace(other, "steps=13..20"));
  CHECK(never.errors.find("the run ended after step 12, before step 13; nothing was traced") != std::string::npos);
  CHECK_FALSE(fs::exists(find_run_folder(other, "traced") / "trace.json"));
}

TEST_CASE("each process writes a file") {
  const fs::path output = make_empty_folder("trace_ranks");
  require_success(trace(output, "steps=2..3", {"--processes", "2"}));
  const fs::path run = find_run_folder(output, "traced");
  CHECK(count(read_whole_events(run / "trace.json"), "forward") == 2);
  CHECK(count(read_whole_events(run / "trace.rank1.json"), "forward") == 2);
}

TEST_CASE("tracing does not change the run") {
  const fs::path output = make_empty_folder("trace_same");
  REQUIRE(trace(output / "with", "steps=1..12").exit_code == 0);
  REQUIRE(trace(output / "without", "steps=100..100").exit_code == 0);
  CHECK(read_history_without_times(find_run_folder(output / "with", "traced")) ==
        read_history_without_times(find_run_folder(output / "without", "traced")));
}

TEST_CASE("an invalid range is refused") {
  for (const char* steps :
       {"10..20", "steps=10", "steps=0..3", "steps=5..4", "steps=1..2x", "steps=..", "steps=1...2"}) {
    CAPTURE(steps);
    check_errors(run_host({"--config", kDigits, "--trace", steps}), 2,
                 {"expected steps=FROM..TO such as steps=10..20"});
  }
}

}  // namespace trace_test
