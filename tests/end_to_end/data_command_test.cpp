// Tests host data.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace data_command_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits.toml";

Outcome run_data(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"data", "--config", kDigits});
  return run_host(arguments);
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("host data prints the fields and times the loader") {
  const Outcome outcome = run_data({"--seconds", "0.2"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("train: digits (digits ") == 0);
  CHECK(outcome.output.find("1438 samples, 23 batches of 64\n") != std::string::npos);
  CHECK(outcome.output.find("image            float32  [1, 8, 8]          256 bytes\n") != std::string::npos);
  CHECK(outcome.output.find("label            int64    []                 8 bytes\n") != std::string::npos);
  CHECK(outcome.output.find(" samples/s, ") != std::string::npos);
  CHECK(outcome.errors.empty());
}

TEST_CASE("the numbers of host data are consistent") {
  const Outcome outcome =
      run_data({"--json", "--seconds", "0.3", "--step-ms", "5", "--data", "validation", "--set", "data.workers=1"});
  CHECK(outcome.exit_code == 0);
  const auto all = nlohmann::json::parse(outcome.output);
  CHECK(all["dataset"] == "validation");
  CHECK(all["samples"] == 359);
  CHECK(all["batches"] == 6);
  CHECK(all["fields"][0]["shape"] == std::vector<int>{1, 8, 8});
  const auto& loader = all["loader"];
  CHECK(loader["seconds"] >= 0.3);
  const double batches = loader["batches"];
  CHECK(batches * 0.005 <= loader["seconds"].get<double>());
  CHECK(loader["bytes"] == loader["samples"].get<int64_t>() * (256 + 8));
  CHECK(loader["samples_per_s"].get<double>() ==
        doctest::Approx(loader["samples"].get<double>() / loader["seconds"].get<double>()));
  for (const char* share : {"wait_share", "busy_share"}) {
    CHECK(loader[share] >= 0);
    CHECK(loader[share] <= 1);
  }
}

TEST_CASE("a page shows the samples of an epoch and is reproducible") {
  const fs::path folder = make_empty_folder("sheet");
  const auto draw = [&](const std::string& name) {
    const Outcome outcome =
        run_data({"--seconds", "0", "--samples", "70", "--sheet", (folder / name).string(), "--set", "data.workers=3"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output.find("samples rendered to ") != std::string::npos);
    return read_file(folder / name);
  };
  const std::string page = draw("a.html");
  CHECK(count(page, "<figure>") == 70);
  CHECK(count(page, "data:image/png;base64,") == 70);
  CHECK(count(page, "label: ") == 70);
  CHECK(page.find("train: 70 samples of digits") != std::string::npos);
  CHECK(draw("b.html") == page);
}

TEST_CASE("wrong arguments of host data are refused with the expected ones") {
  for (const auto& [arguments, expected] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--data", "valdation"}, "--data is \"valdation\"; did you mean \"validation\"?"},
           {{"--seconds", "-1"}, "--seconds is -1"},
           {{"--samples", "0"}, "--samples is 0"},
           {{"--sheet", "/nowhere/a.html"}, "/nowhere/a.html"},
       }) {
    const std::string& message = expected;
    CAPTURE(message);
    const Outcome outcome = run_data(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find(message) != std::string::npos);
  }
  CHECK(run_host({"data"}).exit_code == 2);
}

}  // namespace data_command_test
