// Tests `host compare`.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

namespace compare_test {

using namespace tenon::end_to_end;
using tenon::contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// Compares short runs on a tenth of the digits.
Outcome compare(const fs::path& output, std::vector<std::string> more) {
  std::vector<std::string> arguments = joined({"compare", kDigits}, more);
  for (const char* setting : {"train={epochs=2}", "data.train.subset=10%", "data.batch_size=16"})
    arguments.insert(arguments.end(), {"--set", setting});
  arguments.insert(arguments.end(), {"--output", output.string()});
  return run_host(arguments);
}

}  // namespace

TEST_CASE("each varied value is run with each seed and compared") {
  const fs::path output = make_empty_folder("compare") / "rates";
  const Outcome outcome =
      require_success(compare(output, {"--vary", "optimizer.lr=0.01,1e-9", "--seeds", "2", "--json"}));
  const Json variants = Json::parse(outcome.output);
  CHECK(variants == Json::parse(read_file(output / "comparison.json")));
  REQUIRE(variants.size() == 2);
  CHECK(variants[0]["name"] == "lr=0.01");
  CHECK(variants[1]["name"] == "lr=1e-9");
  CHECK(variants[0]["monitor"] == "validation/loss");
  double mean_losses[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i) {
    REQUIRE(variants[i]["runs"].size() == 2);
    for (size_t seed = 0; seed < 2; ++seed) {
      const Json& run = variants[i]["runs"][seed];
      CHECK(run["seed"] == seed);
      CHECK(run["exit_code"] == 0);
      CHECK(run["steps"] == 18);  // two epochs of 143 samples in batches of 16
      CHECK(run["samples"] == 286);
      CHECK(run["peak_bytes"] > 20 << 20);
      CHECK(run["seconds"] > 0);
      const fs::path folder = run["folder"].get<std::string>();
      CHECK(contains(read_file(folder / "plan.toml"), "seed = " + std::to_string(seed)));
      CHECK(run["metrics"]["validation/accuracy"].is_number());
      mean_losses[i] += run["metrics"]["validation/loss"].get<double>() / 2;
    }
  }
  CHECK(mean_losses[0] < mean_losses[1]);
  const Json& best = variants[0]["runs"][0];
  CHECK(best["metrics"]["validation/loss"] == read_last_metric(best["folder"].get<std::string>(), "validation/loss"));
}

TEST_CASE("the table has mean and standard deviation over seeds, time and memory") {
  const fs::path output = make_empty_folder("compare_table");
  const Outcome outcome =
      require_success(compare(output, {"--vary", "model.params.hidden=[8],[8, 4]", "--seeds", "2"}));
  CHECK(contains(outcome.output, "[1/4] hidden=[8], seed 0: "));
  CHECK(contains(outcome.output, "[4/4] hidden=[8, 4], seed 1: "));
  for (const char* expected : {"validation/loss", "validation/accuracy", "train/loss", "time/epoch", "samples/s",
                               "memory", " ± ", "MiB", "mean ± sample standard deviation over 2 seeds\n"}) {
    CAPTURE(expected);
    CHECK(contains(outcome.output, expected));
  }
  const std::string table = read_file(output / "comparison.md");
  CHECK(table.starts_with("|  | validation/loss | "));
  CHECK(contains(table, "\n| hidden=[8, 4] | "));
  CHECK(contains(table, " |\n\nmean ± sample standard deviation over 2 seeds\n\nbest validation/"));
  CHECK(table.ends_with("; with fewer than three runs of each, it may be chance\n"));
  const std::string page = read_file(output / "comparison.html");
  CHECK(contains(page, "<svg"));
  CHECK(contains(page, "model.params.hidden"));  // the value that differs between the runs
  CHECK(contains(page, "hidden=[8, 4], seed=1, validation</td>"));
  CHECK_FALSE(contains(page, "hidden=_8_"));
}

TEST_CASE("several files and values are combined in all ways") {
  const fs::path output = make_empty_folder("compare_files");
  const fs::path other = write_file(output / "other.toml", read_file(kDigits));
  const Outcome outcome = require_success(
      run_host({"compare", kDigits, other.string(), "--vary", "train.precision=fp32,bf16", "--set", "train={steps=2}",
                "--set", "data.train.subset=5%", "--output", (output / "runs").string(), "--json"}));
  std::vector<std::string> names;
  for (const Json& variant : Json::parse(outcome.output)) names.push_back(variant["name"]);
  CHECK(names == std::vector<std::string>{"digits_mlp, precision=fp32", "digits_mlp, precision=bf16",
                                          "other, precision=fp32", "other, precision=bf16"});
}

TEST_CASE("--with changes a key together with that of --vary") {
  const fs::path output = make_empty_folder("compare_pairs");
  const Outcome outcome =
      require_success(compare(output, {"--vary", "data.batch_size=64,32", "--with", "train.accumulate=1,2", "--set",
                                       "train.steps=2", "--json"}));
  std::vector<std::string> names;
  for (const Json& variant : Json::parse(outcome.output)) names.push_back(variant["name"]);
  CHECK(names == std::vector<std::string>{"batch_size=64, accumulate=1", "batch_size=32, accumulate=2"});
  const auto refusal_of = [&](const std::vector<std::string>& arguments) { return compare(output, arguments).errors; };
  CHECK(contains(refusal_of({"--vary", "run.threads=1,2", "--with", "data.workers=1,2,3"}),
                 "--with is \"data.workers=1,2,3\", with 3 values; expected 2 values, one for each value of --vary"));
  CHECK(
      contains(refusal_of({"--with", "data.workers=1,2"}), "--with is given with 0 times --vary; expected one --vary"));
  CHECK(contains(refusal_of({"--vary", "run.threads=1,2", "--with", "data.workers"}),
                 "--with is \"data.workers\"; expected --with KEY=VALUE"));
}

TEST_CASE("a failed run is reported with its reason, and the other runs continue") {
  const fs::path output = make_empty_folder("compare_failing");
  const Outcome outcome = compare(output, {"--vary", "optimizer.lr=1e39,0.01", "--set", "schedule={use=\"constant\"}"});
  CHECK(outcome.exit_code == 7);
  CHECK(contains(outcome.output, "[1/2] lr=1e39, seed 0: exit code 7: "));
  CHECK(contains(outcome.output, "lr=1e39 (1 failed)"));
  CHECK(contains(outcome.output, "lr=1e39, seed 0: exit code 7: error: "));
  CHECK(fs::exists(find_run_folder(output, "lr=0.01") / "checkpoints/latest"));
}

TEST_CASE("a reason that several runs have is listed once, and --config names a run file") {
  const fs::path output = make_empty_folder("compare_failing_folds");
  const Outcome outcome = run_host({"compare", "--config", kDigits, "--folds", "2", "--set", "optimizer.lr=1e39",
                                    "--set", "schedule={use=\"constant\"}", "--set", "data.validation={like=\"train\"}",
                                    "--output", output.string()});
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 7);
  CHECK(contains(outcome.output, "[1/2] digits_mlp, seed 0, fold 0 of 2: exit code 7: "));
  CHECK(contains(outcome.output, "digits_mlp, seed 0, fold 0"));
  const std::string reason = "is NaN in step ";
  const std::string table = read_file(output / "comparison.md");
  CHECK(table.find(reason) == table.rfind(reason));
}

TEST_CASE("an error in any variant is reported before the first run") {
  const fs::path output = make_empty_folder("compare_wrong") / "none";
  check_errors(compare(output, {"--vary", "train.precision=fp32,bf17"}), 2, {"train.precision is \"bf17\""});
  const Outcome undivided = compare(output, {"--folds", "2"});
  CHECK(undivided.exit_code == 2);
  CHECK(contains(undivided.errors,
                 "data.folds divides the samples of [data.train] and [data.validation], but their "
                 "subsets are \"10%\" and \"100%\""));
  CHECK_FALSE(fs::exists(output));
  const auto refusal_of = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run_host(arguments);
    CHECK(outcome.exit_code == 2);
    return outcome.errors;
  };
  CHECK(contains(refusal_of({"compare"}), "compare has no file; expected host compare FILE [FILE ...]"));
  CHECK(contains(refusal_of({"compare", kDigits, "--seeds", "0"}), "--seeds is 0; expected at least 1"));
  CHECK(contains(refusal_of({"compare", kDigits, "--folds", "1"}), "--folds is 1; expected at least 2"));
  CHECK(contains(refusal_of({"compare", kDigits, "--vary", "lr"}), "--vary is \"lr\"; expected --vary KEY=VALUE"));
  CHECK(contains(refusal_of({"compare", kDigits, "--vary", "run.seed=1,,2"}), "with an empty value"));
  CHECK(contains(refusal_of({"compare", kDigits, "--vary", "run.threads=1,1"}), "\"threads=1\" is listed twice"));
}

TEST_CASE("each fold is trained once, and an evaluation of its weights has the samples that they were not trained on") {
  const fs::path output = make_empty_folder("compare") / "folds";
  const Outcome outcome =
      require_success(compare(output, {"--folds", "3", "--set", "data.validation={use=\"digits\", subset=\"10%\"}",
                                       "--set", "data.folds.stratify=label", "--json"}));
  const Json runs = Json::parse(outcome.output)[0]["runs"];
  REQUIRE(runs.size() == 3);
  double correct = 0;
  for (size_t fold = 0; fold < 3; ++fold) {
    CAPTURE(fold);
    const Json& run = runs[fold];
    CHECK(run["fold"] == fold);
    CHECK(run["seed"] == 0);
    const fs::path folder = run["folder"].get<std::string>();
    CHECK(contains(read_file(folder / "plan.toml"), "[data.folds]\ncount = 3\nfold = " + std::to_string(fold) +
                                                        "\nstratify = \"label\"\ngroup = \"\"\n"));
    // 143 samples: two folds of 48, and one of 47.
    const double samples = fold == 2 ? 47 : 48;
    CHECK(run["samples"] == 2 * (143 - samples));
    const double accuracy = run["metrics"]["validation/accuracy"].get<double>();
    CHECK(accuracy * samples == doctest::Approx(std::round(accuracy * samples)));
    correct += accuracy;
    // With the run file, which has no folds, and with the plan of another fold.
    for (const std::string& file :
         {kDigits, (fs::path(runs[(fold + 1) % 3]["folder"].get<std::string>()) / "plan.toml").string()}) {
      const Outcome evaluated =
          require_success(run_host({"evaluate", "--config", file, "--checkpoint", folder.string() + "/checkpoints/best",
                                    "--set", "data.validation={use=\"digits\", subset=\"10%\"}", "--json"}));
      CHECK(Json::parse(evaluated.output)["sets"][0]["samples"] == samples);
      CHECK(contains(evaluated.errors, "the weights were trained without fold " + std::to_string(fold) + " of 3"));
      CHECK(Json::parse(evaluated.output)["sets"][0]["metrics"]["validation/accuracy"] ==
            run["metrics"]["validation/accuracy"]);
    }
  }
  CHECK(correct > 0);
  // Other samples are not divided.
  const Outcome other =
      require_success(run_host({"evaluate", "--config", kDigits, "--checkpoint",
                                runs[0]["folder"].get<std::string>() + "/checkpoints/best", "--json"}));
  CHECK(Json::parse(other.output)["sets"][0]["samples"] == 359);
}

TEST_CASE("a group of rows is in one fold") {
  const fs::path folder = make_empty_folder("compare_groups");
  std::ofstream table(folder / "visits.csv");
  table << "patient,x,y\n";
  for (int i = 0; i < 13; ++i) table << (i < 10 ? "anna" : "p" + std::to_string(i)) << ',' << i << ',' << i % 2 << '\n';
  table.close();
  const fs::path file = folder / "run.toml";
  std::ofstream(file) << R"(
run.seed = 0
model = { use = "mlp", params = { hidden = [4] } }
loss = [{ use = "cross_entropy" }]
metric = [{ use = "accuracy" }]
train.epochs = 1
optimizer.use = "sgd"
optimizer.lr = 0.1
[data]
batch_size = 4
train = { use = "table", params = { path = "visits.csv", target = "y", task = "classification", group = "patient" } }
validation = { like = "train" }
folds = { count = 2, group = "group" }
)";
  const Outcome outcome = require_success(
      run_host({"compare", file.string(), "--folds", "2", "--output", (folder / "runs").string(), "--json"}));
  const Json runs = Json::parse(outcome.output)[0]["runs"];
  // The ten rows of one patient against the other three. Without groups, the folds would have 7 and 6.
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["samples"] == 3);
  CHECK(runs[1]["samples"] == 10);
  CHECK(contains(read_file(runs[0]["folder"].get<std::string>() + "/plan.toml"), "group = \"group\"\n"));
}

TEST_CASE("the table of folds has means and standard deviations") {
  const fs::path output = make_empty_folder("compare") / "fold_table";
  const Outcome outcome =
      require_success(compare(output, {"--folds", "2", "--set", "data.validation={use=\"digits\", subset=\"10%\"}"}));
  CHECK(contains(outcome.output, "[1/2] digits_mlp, seed 0, fold 0 of 2: "));
  CHECK(contains(outcome.output, "[2/2] digits_mlp, seed 0, fold 1 of 2: "));
  CHECK(contains(read_file(output / "comparison.md"), " ± "));
}

}  // namespace compare_test
