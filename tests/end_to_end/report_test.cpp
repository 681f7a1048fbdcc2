// Tests TensorBoard events, report.html, plots and lists of runs.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/tensorboard_events.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;
namespace artifacts = tenon::artifacts;

namespace {

constexpr const char* kRunFile = R"([model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 32
[data.train]
use = "digits"
subset = "20%"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 2
[log]
every = "3 steps"
[checkpoint]
monitor = "validation/accuracy"
[optimizer]
use = "adamw"
lr = 0.01
)";

fs::path runs_folder() { return tenon::test_folder() / "reported"; }

// Trains and returns the run folder. `overrides`: arguments of --set.
fs::path train(const std::string& name, const std::vector<std::string>& overrides = {}, int exit_code = 0) {
  const fs::path file = write_file(tenon::test_folder() / "reported.toml", kRunFile);
  fs::remove_all(runs_folder() / name);
  std::vector<std::string> arguments{"--config", file.string(),
                                     "--set",    "run.name=\"" + name + "\"",
                                     "--set",    "run.output_dir=\"" + runs_folder().string() + "\""};
  for (const std::string& one : overrides) arguments.insert(arguments.end(), {"--set", one});
  check_errors(run_host(arguments), exit_code, {});
  return find_run_folder(runs_folder(), name);
}

// The run that all tests share.
const fs::path& example_run() {
  static const fs::path run = train("example");
  return run;
}

std::string render(const std::vector<std::string>& arguments) {
  const Outcome outcome = require_success(run_host(arguments));
  return outcome.output;
}

void check_refused(const std::vector<std::string>& arguments, int exit_code, const std::string& message) {
  check_errors(run_host(arguments), exit_code, {message});
}

// Checks that the tags of a page or an image are nested correctly.
void check_nested(const std::string& text) {
  std::vector<std::string> open;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const std::string tag = text.substr(at + 1, text.find('>', at) - at - 1);
    const bool is_end = tag.starts_with('/');
    const std::string name = tag.substr(is_end ? 1 : 0, tag.find_first_of(" \n") - (is_end ? 1 : 0));
    const bool has_no_end =
        tag.ends_with('/') || name == "meta" || name == "img" || name == "br" || name == "wbr" || name.starts_with('!');
    if (is_end) {
      REQUIRE(!open.empty());
      CHECK(open.back() == name);
      open.pop_back();
    } else if (!has_no_end) {
      open.push_back(name);
    }
  }
  CHECK(open.empty());
}

// Empties the elements of a name: neither scripts nor data contain markup.
std::string without_content(std::string page, const std::string& name) {
  for (size_t begin = page.find("<" + name); begin != page.npos; begin = page.find("<" + name, begin + 1)) {
    const size_t content = page.find('>', begin) + 1, end = page.find("</" + name + ">", begin);
    REQUIRE(end != page.npos);
    page.erase(content, end - content);
  }
  return page;
}

void check_self_contained(const std::string& whole_page) {
  const std::string page = std::regex_replace(without_content(whole_page, "script"),
                                              std::regex(" src=\"data:image/png;base64,[^\"]*\""), "");
  for (const char* part : {"http:", "https:", "src=", "href=", "url(", "@import"})
    CHECK_MESSAGE(!contains(page, part), part);
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  check_nested(page);
}

}  // namespace

TEST_CASE("the events file has one record for each line of the history with metrics") {
  std::ifstream stream(artifacts::find_events_file(example_run()).value(), std::ios::binary);
  std::vector<std::string> records;
  while (const auto framed = artifacts::read_framed_record(stream))
    records.emplace_back(artifacts::record_data(*framed));
  std::ifstream history(artifacts::RunFolder{example_run()}.history_jsonl());
  size_t place = 4;  // after version, session, plan and hyperparameters
  for (std::string text; std::getline(history, text);) {
    artifacts::HistoryLine line = artifacts::parse_history_line(text);
    if (line.metrics.empty()) continue;
    for (auto& [name, value] : line.metrics)
      if (name == "train/loss" && line.event == artifacts::HistoryEvent::epoch) name += "_epoch";
    REQUIRE(place < records.size());
    // Compares all bytes except the time.
    const std::string expected = artifacts::make_scalars_event({}, line.step, line.metrics).bytes();
    CHECK(records[place++].substr(9) == expected.substr(9));
  }
  for (const char* group : {"validation/worst/", "validation/best/"})
    for (int i = 1; i <= 6; ++i) {
      REQUIRE(place < records.size());
      CHECK(contains(records[place], group + std::to_string(i) + "/image"));
      CHECK(contains(records[place++], "\x89PNG"));
    }
  CHECK(place + 1 == records.size());  // the last record is the end of the run
  CHECK(contains(records[2], "use = \"mlp\""));
  CHECK(contains(records[3], "optimizer.lr"));
  CHECK(contains(records[4], "train/loss"));
}

TEST_CASE("without log.tensorboard there is no events file, and a run that resumes with it has all curves") {
  const fs::path run = train("silent", {"log.tensorboard=false", "train.epochs=1"});
  CHECK_FALSE(artifacts::find_events_file(run));
  require_success(run_host({"--config", (run / "plan.toml").string(), "--resume", run.string(), "--set",
                            "log.tensorboard=true", "--set", "train.epochs=2"}));
  std::ifstream stream(artifacts::find_events_file(run).value(), std::ios::binary);
  size_t scalars = 0;
  while (const auto framed = artifacts::read_framed_record(stream)) scalars += contains(*framed, "train/loss") ? 1 : 0;
  size_t lines = 0;
  std::ifstream history(artifacts::RunFolder{run}.history_jsonl());
  for (std::string text; std::getline(history, text);) lines += contains(text, "\"train/loss\"") ? 1 : 0;
  CHECK(lines > 0);
  CHECK(scalars == lines);
}

TEST_CASE("report.html is self-contained and describes the run") {
  const std::string page = read_file(example_run() / "report.html");
  check_self_contained(page);
  for (const char* part :
       {"How did it end?", "It finished</strong>, after epoch 2", "Did it converge?", "Did it overfit?",
        "aria-label=\"loss\"", "aria-label=\"accuracy\"", "aria-label=\"learning rate\"", "class=\"ring c1\"",
        "Where the time went", "forward", "use = &quot;mlp&quot;", "parameters", "machine cpu", "# repeat the run",
        "host --config ", "prefers-color-scheme:dark", "width=device-width"})
    CHECK_MESSAGE(contains(page, part), part);
  for (const char* plot : {"loss.svg", "accuracy.svg", "learning_rate.svg"}) {
    const std::string picture = read_file(example_run() / "plots" / plot);
    CHECK(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    check_nested(picture);
  }
}

TEST_CASE("report.html shows the worst and best samples and the confused classes") {
  const std::string page = read_file(example_run() / "report.html");
  for (const char* part : {"Which classes are confused?", "<h2>Single samples</h2>",
                           "<h3>label (predicted by logits)</h3>", "aria-label=\"confusion\"", "<h3>Worst samples</h3>",
                           "<h3>Best samples</h3>", "predicted label: ", "Selected from all 359 samples of validation"})
    CHECK_MESSAGE(contains(page, part), part);
  const auto samples = nlohmann::json::parse(read_file(example_run() / "samples" / "samples.json"));
  CHECK(samples["scored"] == 359);
  REQUIRE(samples["worst"].size() == 6);
  REQUIRE(samples["best"].size() == 6);
  CHECK(samples["worst"][0]["loss"] > samples["worst"][5]["loss"]);
  CHECK(samples["worst"][5]["loss"] > samples["best"][5]["loss"]);
  CHECK(samples["best"][5]["loss"] > samples["best"][0]["loss"]);
  for (const char* group : {"worst", "best"})
    for (const auto& sample : samples[group])
      CHECK(fs::is_regular_file(example_run() / "samples" / sample["pictures"][0]["file"]));
  // The accuracy equals the metric of the last validation.
  int64_t all = 0, correct = 0;
  for (const auto& cell : samples["classes"][0]["counts"]) {
    all += cell[2].get<int64_t>();
    correct += cell[0] == cell[1] ? cell[2].get<int64_t>() : 0;
  }
  CHECK(all == 359);
  CHECK(static_cast<double>(correct) / 359 == doctest::Approx(read_last_metric(example_run(), "validation/accuracy")));
}

TEST_CASE("log.samples sets the number of evaluated samples, and 0 disables them") {
  const fs::path some = train("some", {"log.samples=40", "train.epochs=1"});
  CHECK(contains(read_file(some / "report.html"), "Selected from the first 40 of 359 samples of validation"));
  const fs::path none = train("none", {"log.samples=0", "train.epochs=1"});
  CHECK_FALSE(fs::exists(none / "samples"));
  CHECK_FALSE(contains(read_file(none / "report.html"), "Single samples"));
}

TEST_CASE("with load_best_at_end the samples are evaluated with the best weights") {
  const fs::path run = train("best", {"checkpoint.load_best_at_end=true", "train.epochs=6", "optimizer.lr=0.3"});
  const auto samples = nlohmann::json::parse(read_file(run / "samples" / "samples.json"));
  int64_t correct = 0;
  for (const auto& cell : samples["classes"][0]["counts"]) correct += cell[0] == cell[1] ? cell[2].get<int64_t>() : 0;
  double best = 0;
  int64_t best_step = 0;
  std::ifstream history(run / "history.jsonl");
  for (std::string text; std::getline(history, text);) {
    const auto line = nlohmann::json::parse(text);
    if (line["event"] != "validation" || line["validation/accuracy"] <= best) continue;
    best = line["validation/accuracy"];
    best_step = line["step"];
  }
  CHECK(samples["step"] == best_step);
  CHECK(static_cast<double>(correct) / 359 == doctest::Approx(best));
}

TEST_CASE("log.histograms writes histograms of weights and gradients to the events file") {
  const fs::path run = train("spread", {"log.histograms=\"3 steps\"", "train.epochs=1"});
  std::ifstream stream(artifacts::find_events_file(run).value(), std::ios::binary);
  size_t found = 0;
  while (const auto framed = artifacts::read_framed_record(stream)) {
    if (!contains(*framed, "weights/")) continue;
    ++found;
    for (const char* tag : {"weights/layers.0.weight", "gradients/layers.0.weight"})
      CHECK_MESSAGE(contains(*framed, tag), tag);
  }
  CHECK(found == 3);  // in 9 steps
  check_refused({"--config", (tenon::test_folder() / "reported.toml").string(), "--set", "log.histograms=\"3 steps\"",
                 "--set", "log.tensorboard=false"},
                2, "log.histograms is \"3 steps\", but log.tensorboard is false");
}

TEST_CASE("a run that waited for its data reports this with advice") {
  const fs::path run = make_empty_folder("waited");
  fs::copy(example_run(), run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  nlohmann::json record = nlohmann::json::parse(read_file(run / "run.json"));
  record["stages"] = {{"data", 6.0}, {"forward", 3.99}, {"history", 0.01}};
  write_file(run / "run.json", record.dump());
  render({"report", run.string()});
  const std::string page = read_file(run / "report.html");
  CHECK(contains(page, "Mostly data</strong>: of 10.0 s, data 60\u00A0%, forward 40\u00A0%, other 0.1\u00A0%."));
  CHECK(contains(page, "training waited for data 60\u00A0% of the time: raise data.workers (2)"));
}

TEST_CASE("host report writes the same page again") {
  const std::string before = read_file(example_run() / "report.html");
  fs::remove(example_run() / "report.html");
  CHECK(render({"report", example_run().string()}) == (example_run() / "report.html").string() + "\n");
  CHECK(read_file(example_run() / "report.html") == before);
}

TEST_CASE("host report compares runs and shows the differences") {
  const fs::path other = train("other", {"optimizer.lr=0.001", "model.params.hidden=[8]"});
  const fs::path file = tenon::test_folder() / "both.html";
  render({"report", example_run().string(), other.string(), "--output", file.string()});
  const std::string page = read_file(file);
  check_self_contained(page);
  for (const char* part : {"<h1>2 runs</h1>", "<th>optimizer.lr</th><td>0.01</td><td>0.001</td>",
                           "<th>model.params.hidden</th><td>[16]</td><td>[8]</td>", "hidden=[16], lr=0.01, validation",
                           "hidden=[8], lr=0.001, train"})
    CHECK_MESSAGE(contains(page, part), part);
  CHECK_FALSE(contains(page, "<th>data.batch_size</th>"));
}

TEST_CASE("a run that failed has a report with the reason") {
  const fs::path run = train("failed", {"optimizer.lr=1e30"}, 7);
  const std::string page = read_file(run / "report.html");
  check_self_contained(page);
  CHECK(contains(page, "It failed</strong>, after "));
}

TEST_CASE("host report refuses folders without a run") {
  check_refused({"report"}, 2, "report has no run; expected host report RUN [RUN ...] [options]");
  check_refused({"report", "a", "b"}, 2, "report of several runs has no --output");
  check_refused({"report", "nowhere"}, 5, "nowhere: does not exist; expected the folder of a run");
  check_refused({"report", tenon::test_folder().string()}, 5,
                "has no plan.toml and no checkpoints/; expected the folder of a run");
  const fs::path copy = make_empty_folder("damaged_run");
  fs::copy(example_run(), copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  write_file(copy / "history.jsonl", "{\"event\": \"step\"");
  check_refused({"report", copy.string()}, 5, "history.jsonl: line 1: ");
  write_file(copy / "history.jsonl", read_file(example_run() / "history.jsonl"));
  write_file(copy / "samples" / "samples.json", "{\"data\": 1}");
  check_refused({"report", copy.string()}, 5, "samples/samples.json: ");
  write_file(copy / "run.json", "[]");
  check_refused({"report", copy.string()}, 5, "run.json: is not a JSON object");
}

TEST_CASE("host runs lists runs, newest first or sorted by a metric") {
  const fs::path folder = make_empty_folder("listed");
  const auto copy = [&](const std::string& name, const std::string& accuracy, const std::string& status) {
    const fs::path run = folder / "digits" / name;
    fs::create_directories(run / "checkpoints");
    write_file(run / "plan.toml", read_file(example_run() / "plan.toml"));
    auto record = nlohmann::ordered_json::parse(read_file(example_run() / "run.json"));
    record["status"] = status;
    write_file(run / "run.json", record.dump());
    write_file(run / "history.jsonl",
               "{\"event\": \"validation\", \"epoch\": 1, \"step\": 9, \"time_s\": 61, \"validation/accuracy\": " +
                   accuracy + ", \"validation/loss\": 0.5}\n");
  };
  copy("2026-11-21T11-30-05", "0.75", "finished");
  copy("2026-11-21T11-30-07", "0.25", "stopped");
  copy("2026-11-21T11-30-06", "0.5", "running");
  const std::string table = render({"runs", folder.string()});
  const std::regex rows(
      R"(run +state +epoch +time +best validation/accuracy +at step +train/loss +validation/loss +model
digits/2026-11-21T11-30-07 +stopped +1/2 +1:01 +0.25 +9 +0.5 +mlp
digits/2026-11-21T11-30-06 +crashed .*
digits/2026-11-21T11-30-05 +finished .*
)");
  CAPTURE(table);
  CHECK(std::regex_match(table, rows));
  const auto sorted =
      nlohmann::json::parse(render({"runs", folder.string(), "--sort", "validation/accuracy", "--json"}))["runs"];
  REQUIRE(sorted.size() == 3);
  CHECK(sorted[0]["metrics"]["validation/accuracy"]["best"] == nlohmann::json({{"value", 0.75}, {"step", 9}}));
  CHECK(sorted[1]["state"] == "crashed");
  CHECK(sorted[2]["epochs"] == 2);
  CHECK(render({"runs", (folder / "digits").string()}) == table);
  CHECK(run_host({"runs", folder.string()}, "env COLUMNS=40").output ==
        "(too narrow for epoch, time and 5 more)\n"
        "run                         state\n"
        "digits/2026-11-21T11-30-07  stopped\n"
        "digits/2026-11-21T11-30-06  crashed\n"
        "digits/2026-11-21T11-30-05  finished\n");
  const std::string coloured = render({"runs", folder.string(), "--color", "always"});
  CHECK(contains(coloured, "\033[31mcrashed\033[m"));
  CHECK_FALSE(contains(render({"--color=never", "runs", folder.string()}), "\033"));
  check_refused({"runs", folder.string(), "--color", "alway"}, 2,
                "--color is \"alway\"; did you mean \"always\"?; expected auto, always or never");
}

TEST_CASE("host runs reports an empty list and an unknown metric") {
  const fs::path empty = make_empty_folder("no_runs");
  CHECK(render({"runs", empty.string()}) == "no runs in " + empty.string() + "\n");
  check_refused({"runs", "nowhere"}, 2, "command line: nowhere: does not exist; expected a folder with runs");
  check_refused({"runs", example_run().string(), "--sort", "validation/acuracy"}, 2,
                "--sort is \"validation/acuracy\", but no run has this metric; did you mean \"validation/accuracy\"?");
  check_refused({"runs", "a", "b"}, 2, "unexpected argument \"b\"");
  check_refused({"runs", "--jsn"}, 2, "unknown option --jsn; did you mean \"--json\"?");
}

TEST_CASE("uncommitted changes of the run file's repository are kept with the run, and the report names their file") {
  const fs::path tree = make_empty_folder("experiments");
  const fs::path file = write_file(tree / "configs/small.toml", kRunFile);
  const std::string git = "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -C '" + tree.string() +
                          "' -c user.name=A -c user.email=a@example.org ";
  REQUIRE(std::system((git + "init -q && " + git + "add -A && " + git + "commit -q -m One").c_str()) == 0);
  write_file(file, std::string(kRunFile) + "weight_decay = 0.125\n");
  write_file(tree / "notes.txt", "1");
  // The working directory is in no repository, or in another one.
  require_success(
      run_host({"--config", file.string(), "--set", "run.output_dir=\"" + (tree / "runs").string() + "\""}));
  const fs::path run = find_run_folder(tree / "runs", "small");
  const auto recorded = nlohmann::json::parse(read_file(run / "run.json"))["git"];
  CHECK(recorded["dirty"] == true);
  CHECK(recorded["patch"] == "git.patch");
  CHECK(recorded["untracked"] == nlohmann::json({"notes.txt"}));
  CHECK(contains(read_file(run / "report.html"), "with uncommitted changes, which are in git.patch"));
  REQUIRE(std::system((git + "checkout -q . && " + git + "apply '" + (run / "git.patch").string() + "'").c_str()) == 0);
  CHECK(read_file(file) == std::string(kRunFile) + "weight_decay = 0.125\n");
}

TEST_CASE("the report of a regression has predicted against actual numbers, and no logits") {
  std::string table = "x,parity,y\n";
  for (int i = 0; i < 40; ++i)
    table += std::to_string(i) + (i % 2 == 0 ? ",even," : ",odd,") + std::to_string(3 * i + 10) + "\n";
  write_file(tenon::test_folder() / "line.csv", table);
  const fs::path file = write_file(tenon::test_folder() / "line.toml", R"([model]
use = "mlp"
params = { hidden = [4], classes = 1 }
inputs = { image = "data.features" }
[data]
batch_size = 8
[data.train]
use = "table"
params = { path = "line.csv", target = "y", task = "regression", split = "train", validation_fraction = 0.25 }
[data.validation]
like = "train"
params = { split = "validation" }
[[loss]]
use = "mse"
[train]
epochs = 2
[optimizer]
use = "adamw"
lr = 0.01
)");
  require_success(run_host(
      {"--config", file.string(), "--set", "run.output_dir=\"" + (tenon::test_folder() / "lines").string() + "\""}));
  const fs::path run = find_run_folder(tenon::test_folder() / "lines", "line");
  const std::string page = read_file(run / "report.html");
  check_self_contained(page);
  CHECK(contains(page, "<h3>target: predicted against actual</h3>"));
  CHECK(contains(page, "predicted target: "));
  CHECK_FALSE(contains(page, "logits: "));
  const auto samples_json = nlohmann::json::parse(read_file(run / "samples" / "samples.json"));
  // A sample has the values of its row, with the names of the columns.
  for (const auto& sample : samples_json["worst"]) {
    const int x = (std::stoi(sample["values"]["target"].get<std::string>()) - 10) / 3;
    CHECK(sample["values"]["features"] == "x " + std::to_string(x) + ", parity " + (x % 2 == 0 ? "even" : "odd"));
  }
  CHECK_FALSE(samples_json["worst"].empty());
  const auto& numbers = samples_json["numbers"];
  REQUIRE(numbers.size() == 1);
  CHECK(numbers[0]["target"] == "target");
  REQUIRE(numbers[0]["values"].size() == 1);
  const size_t samples = numbers[0]["values"][0].size();
  CHECK(samples > 1);
  // The mean squared difference of the pairs is the loss of the last validation.
  double sum = 0;
  for (const auto& pair : numbers[0]["values"][0]) sum += std::pow(pair[0].get<double>() - pair[1].get<double>(), 2);
  CHECK(sum / static_cast<double>(samples) == doctest::Approx(read_last_metric(run, "validation/loss")).epsilon(1e-4));
}

TEST_CASE("the report of a language model shows texts, and no logits") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  write_file(tenon::test_folder() / "foxes.txt", text);
  const fs::path file = write_file(tenon::test_folder() / "foxes.toml", R"([model]
use = "gpt"
params = { context = 16, layers = 1, heads = 1, width = 8 }
[data]
batch_size = 8
[data.train]
use = "text_windows"
params = { path = "foxes.txt", tokens = "characters", split = "train", context = 16 }
[data.validation]
like = "train"
params = { split = "validation" }
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 2
[optimizer]
use = "adamw"
lr = 0.01
)");
  require_success(run_host(
      {"--config", file.string(), "--set", "run.output_dir=\"" + (tenon::test_folder() / "texts").string() + "\""}));
  const fs::path run = find_run_folder(tenon::test_folder() / "texts", "foxes");
  const auto sample = nlohmann::json::parse(read_file(run / "samples" / "samples.json"))["worst"][0]["values"];
  CAPTURE(sample.dump());
  std::string texts;
  for (const auto& [name, value] : sample.items()) {
    CHECK(name != "logits");
    if (!name.starts_with("predicted ")) texts += value.get<std::string>() + "\n";
    if (name.starts_with("predicted ")) CHECK(value.get<std::string>().size() == 16);
  }
  CHECK(texts.find_first_of("0123456789") == texts.npos);
  CHECK(contains(text, texts.substr(0, 16)));
}
