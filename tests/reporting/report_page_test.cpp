#include "framework/reporting/report/report_page.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/report/report_sections.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/reporting/written_run.h"

namespace tenon::reporting::report_page_test {

namespace {

std::string answer(const ReadRun& run, const std::string& question) {
  for (const Finding& finding : find_findings(run))
    if (finding.question == question) return finding.answer;
  return "";
}

std::string describe_time_of(const std::string& stages) {
  const ReadRun run = write_run({.record = R"({"status": "finished", "stages": )" + stages + "}",
                                 .history = {write_line("step", 1, R"("train/loss": 1)")}});
  return answer(run, "What took the time?");
}

// The answer about a training loss with these values, one each step.
std::string describe_convergence(const std::vector<double>& losses, const std::string& record) {
  std::vector<std::string> history;
  for (size_t i = 0; i < losses.size(); ++i)
    history.push_back(write_line("step", static_cast<int>(i) + 1, "\"train/loss\": " + std::to_string(losses[i])));
  return answer(write_run({.record = record, .history = history}), "Did it converge?");
}

}  // namespace

TEST_CASE("convergence is judged against the initial loss and that of all-zero outputs") {
  const std::string finished = R"({"status": "finished", "first_loss": 2.31, "zero_output_loss": 2.3})";
  // The loss exploded before the first line, and has fallen since.
  CHECK(
      contains(describe_convergence({900, 40, 9, 5, 4, 3.5, 3.4, 3.4, 3.4, 3.4}, finished),
               "No: train/loss went from 900 at step 1 to 3.4 at step 10, but the initial loss was 2.31. It diverged"));
  CHECK(contains(describe_convergence({2.3105, 2.31, 2.309, 2.308}, R"({"status": "finished", "first_loss": 2.307})"),
                 "which is not below the initial loss of 2.307"));
  // A model may return its loss as an output, so that zeros are perfect.
  CHECK(describe_convergence({2, 1, 0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3},
                             R"({"status": "finished", "first_loss": 2.5, "zero_output_loss": 0})")
            .starts_with("Yes: "));
  CHECK(contains(describe_convergence({2.35, 2.31, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3}, finished),
                 "No: train/loss went from 2.35 at step 1 to 2.3 at step 10. Outputs of zeros have 2.3"));
  CHECK(describe_convergence({2, 1, 0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, finished).starts_with("Yes: "));
  CHECK(describe_convergence({2, 1, 0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, R"({"status": "failed"})")
            .ends_with("before the run failed."));
}

TEST_CASE("a failed run has no good findings about its training, and a rise from zero has no percentage") {
  const std::vector<std::string> history{write_line("validation", 1, R"("validation/loss": 0, "train/loss": 0.5)"),
                                         write_line("validation", 9, R"("validation/loss": 1, "train/loss": 0.1)")};
  const std::string directions = R"("directions": {"validation/loss": "min"})";
  const ReadRun run = write_run({.record = "{\"status\": \"finished\", " + directions + "}", .history = history});
  CHECK(contains(answer(run, "Did it overfit?"), "has risen from 0 to 1, while"));
  CHECK_FALSE(contains(make_report_page({run}), "inf"));
  const ReadRun failed = write_run({.record = "{\"status\": \"failed\", " + directions + "}",
                                    .history = {history[0], write_line("validation", 2, R"("validation/loss": 0)")}});
  for (const Finding& finding : find_findings(failed)) {
    CAPTURE(finding.question);
    CHECK(finding.rating != Finding::Rating::good);
  }
}

TEST_CASE("the times of a short run give no advice") {
  const std::string stages = R"({"data": 0.9, "forward": 0.1})";
  CHECK_FALSE(contains(describe_time_of(stages), "Advice"));
  CHECK(contains(describe_time_of(R"({"data": 90, "forward": 10})"), "Advice"));
}

TEST_CASE("the commands of the page name checkpoints that exist") {
  const ReadRun run = write_run(
      {.name = "digits/2026-11-21T11-30-06", .record = R"({"status": "failed", "monitor": "validation/loss"})"});
  const std::string page = make_report_page({run});
  CHECK_FALSE(contains(page, "host evaluate"));
  CHECK_FALSE(contains(page, "--resume"));
  std::filesystem::create_directories(run.folder().checkpoints() / "step-00000003");
  const std::string saved = make_report_page({run});
  CHECK(contains(saved, "compute the metrics of the latest weights"));
  CHECK(contains(saved, "step-00000003"));
  CHECK_FALSE(contains(saved, "--resume"));  // it has only weights
  std::ofstream(run.folder().checkpoints() / "step-00000003/manifest.json")
      << artifacts::format_checkpoint_manifest({.epoch = 1, .step = 3, .state = {{"step", 3}}});
  CHECK(contains(make_report_page({run}), "--resume"));
}

TEST_CASE("the best variant is named with its distance, and what the spread of its runs says") {
  const std::vector<VariantValues> clear{{"a", {1, 1.1, 0.9}}, {"b", {2, 2.1, 1.9}}, {"c", {9, 9, 9}}};
  // The deviation of each is 0.1: the standard error of the difference is sqrt(2 * 0.01 / 3).
  CHECK(describe_best_variant("m", false, clear) ==
        "best m: a, 1, 1 better than b; that is more than twice the standard error of the difference, 0.082");
  CHECK(describe_best_variant("m", true, clear).starts_with("best m: c, 9, 7 better than b; "));
  CHECK(contains(describe_best_variant("m", true, {{"a", {1, 2, 3}}, {"b", {1.1, 2.1, 3.1}}}), "so it may be chance"));
  CHECK(contains(describe_best_variant("m", true, {{"a", {1, 2}}, {"b", {5, 6, 7}}}), "it may be chance"));
  CHECK(describe_best_variant("m", true, {{"a", {1}}, {"b", {NAN}}}).empty());
}

TEST_CASE("the header has the local time, the device and the processes") {
  const ReadRun run = write_run(
      {.plan = "[run]\nseed = 0\n[model]\nuse = \"mlp\"\n[distributed]\nprocesses = 2\n[train]\nepochs = 1\n",
       .record = R"({"status": "finished", "start": "2026-11-21T23:59:58+01:00", "end": "2026-11-22T00:00:05+01:00",
                     "device": "cpu"})",
       .history = {write_line("epoch", 1, R"("train/loss": 1)", 0.25)}});
  const std::string page = make_report_page({run});
  for (const char* part : {"<title>digits, 2026-11-21 23:59:58</title>", "<h1>digits</h1>",
                           ", started 2026-11-21 23:59:58, ended 2026-11-22 00:00:05", "<b>cpu, 2 processes</b>",
                           "<b>0.250 s</b>", "<b>1 of 1 epoch, 1 step</b>"})
    CHECK_MESSAGE(contains(page, part), part);
  CHECK(format_local_time("2026-11-21T11:30:05+01:00") == "2026-11-21 11:30:05");
  CHECK(format_local_time("unknown") == "unknown");
}

TEST_CASE("a run of one day has its date once") {
  const ReadRun run = write_run({.record = R"({"status": "finished", "start": "2026-11-21T11:30:05+01:00",
                                              "end": "2026-11-21T11:30:09+01:00"})",
                                 .history = {write_line("step", 1, R"("train/loss": 1)")}});
  CHECK(contains(make_report_page({run}), ", started 2026-11-21 11:30:05, ended 11:30:09<"));
}

TEST_CASE("a stage took most of the time only if it took much more than the next one") {
  CHECK(describe_time_of(R"({"backward": 6, "forward": 3, "losses": 1})").starts_with("Mostly backward: of 10.0 s, "));
  CHECK(describe_time_of(R"({"backward": 0.3, "forward": 0.3, "losses": 0.4})")
            .starts_with("No single stage: of 1.00 s, losses 40 %, "));
  CHECK(describe_time_of(R"({"backward": 5, "forward": 4})").starts_with("No single stage: "));
  CHECK(describe_time_of(R"({"forward": 0.05})").starts_with("Mostly forward: of 0.050 s, "));
}

TEST_CASE("one value that is not finite is in the singular") {
  const ReadRun run = write_run({.history = {write_line("step", 1, R"("train/loss": "NaN")")}});
  CHECK(answer(run, "Was everything finite?") == "No: train/loss at step 1 is NaN or infinite.");
}

TEST_CASE("metrics with one value are in a table, and not in a chart") {
  const ReadRun run =
      write_run({.history = {write_line("step", 1, R"("train/loss": 3)"), write_line("step", 2, R"("train/loss": 2)"),
                             write_line("validation", 2, R"("validation/loss": 1, "validation/accuracy": 0.75)"),
                             write_line("validation", 2, R"("model_size": 12345)")}});
  const std::string page = make_report_page({run});
  CHECK(contains(page, "aria-label=\"loss\""));
  CHECK_FALSE(contains(page, "aria-label=\"accuracy\""));
  CHECK_FALSE(contains(page, "aria-label=\"model size\""));
  CHECK(contains(page, "<h2>Single values</h2>"));
  CHECK(
      contains(page, "<td>accuracy</td><td>validation</td><td class=\"number\">0.75</td><td class=\"number\">2</td>"));
  CHECK(contains(page, "<td>model size</td><td></td><td class=\"number\">12,345</td>"));
}

TEST_CASE("a run with one value of each metric has no curves, and one with curves only has no table of single values") {
  const auto make_page = [](const std::vector<std::string>& history) {
    return make_report_page({write_run({.history = history})});
  };
  CHECK_FALSE(contains(make_page({write_line("validation", 1, R"("validation/loss": 1)")}), "<h2>Curves</h2>"));
  CHECK_FALSE(
      contains(make_page({write_line("step", 1, R"("train/loss": 1)"), write_line("step", 2, R"("train/loss": 1)")}),
               "<h2>Single values</h2>"));
  CHECK(contains(make_page({}), "The history has no metrics."));
}

TEST_CASE("the metrics of the test data are in a separate table") {
  const ReadRun run =
      write_run({.record = R"({"test": {"monitor": "validation/loss", "step": 2}})",
                 .history = {write_line("step", 1, R"("train/loss": 3)"),
                             write_line("test", 2, R"("test/accuracy": 0.75, "test/top_5/accuracy": 1)")}});
  const std::string page = make_report_page({run});
  CHECK(contains(page,
                 "<h2>Test</h2>\n<p>Evaluated once, after training. Weights: best, step 2, by validation loss.</p>"));
  CHECK(contains(page, "<tr><td>accuracy</td><td class=\"number\">0.75</td></tr>"));
  CHECK(contains(page, "<tr><td>top 5 accuracy</td><td class=\"number\">1</td></tr>"));
  CHECK_FALSE(contains(page, "test/"));
}

TEST_CASE("lines may end within long names after dots, slashes and underscores, and nowhere in short words") {
  CHECK(format_text("model.params.hidden_channels = 8") == "model.<wbr>params.<wbr>hidden_<wbr>channels = 8");
  CHECK(format_text("a <b> validation/loss 0.25") == "a &lt;b&gt; validation/loss 0.25");
  CHECK(format_text("  ...plugins.build/.very_long/  ") == "  ...<wbr>plugins.<wbr>build/.<wbr>very_<wbr>long/  ");
  CHECK(format_text("") == "");
  const std::string name = "validation/precision_recall_of_the_class";
  const ReadRun run = write_run({.plan = "[run]\nseed = 0\n[model]\nuse = \"a_long_name_of_a_model\"\n",
                                 .record = "{\"monitor\": \"" + name + "\"}",
                                 .history = {write_line("step", 1, "\"" + name + "\": \"NaN\"")}});
  CHECK(
      contains(make_report_page({run}), "validation/<wbr>precision_<wbr>recall_<wbr>of_<wbr>the_<wbr>class at step 1"));
  CHECK(contains(make_report_page({run}), "use = &quot;a_<wbr>long_<wbr>name_<wbr>of_<wbr>a_<wbr>model&quot;"));
}

TEST_CASE("repeated runs have a table with the mean and the deviation of each variant") {
  const auto write = [](const std::string& lr, const std::string& seed, const std::string& loss) {
    return write_run({.name = "digits/" + lr + "-" + seed,
                      .plan = "[run]\nseed = " + seed + "\n[optimizer]\nlr = " + lr + "\n",
                      .record = R"({"monitor": "validation/loss", "directions": {"validation/loss": "min"}})",
                      .history = {write_line("validation", 1, "\"validation/loss\": " + loss, 0.125),
                                  write_line("validation", 2, R"("validation/loss": 9)", 0.25)}});
  };
  const std::vector<ReadRun> runs{write("0.1", "0", "1"), write("0.1", "1", "3"), write("0.2", "0", "5")};
  const std::string page = make_report_page(runs);
  CHECK(contains(page, "<h2>Mean and standard deviation</h2>"));
  CHECK(contains(page, "lr=0.1</td><td class=\"number\">2</td><td class=\"number\">2 ± 1.4</td>"));
  CHECK(contains(page, "lr=0.2</td><td class=\"number\">1</td><td class=\"number\">5</td>"));
  CHECK(contains(page, "<td class=\"number\">0.250 s</td>"));
  // What the runs share is in the heading, or nowhere.
  CHECK(contains(page, "<th>best validation loss</th>"));
  CHECK(contains(page, "<td>1 at step 1</td>"));
  CHECK_FALSE(contains(page, "<th>model</th>"));
  CHECK_FALSE(contains(make_report_page({runs[0], runs[2]}), "<h2>Mean and standard deviation</h2>"));
}

// The name of a variant says what varies, even if the plans differ in nothing that affects the metrics.
TEST_CASE("a comparison names its variants in headings, tables and legends, and not by their folders") {
  const auto write = [](const std::string& workers, const std::string& seed) {
    return write_run({.name = "workers_" + workers + "/time-" + seed,
                      .plan = "[run]\nseed = " + seed + "\n[data]\nworkers = " + workers + "\n",
                      .record = R"({"start": "2026-11-21T23:59:58+01:00"})",
                      .history = {write_line("validation", 1, R"("validation/loss": 2)"),
                                  write_line("validation", 2, R"("validation/loss": 1)")}});
  };
  const std::vector<ReadRun> runs{write("1", "0"), write("1", "1"), write("2", "0"), write("2", "1")};
  const std::string page = make_report_page(runs, {"workers=1", "workers=1", "workers=2", "workers=2"});
  CHECK(contains(page, "<title>2 variants, 4 runs</title>"));
  CHECK(contains(page, "<h1>2 variants, 4 runs</h1>"));
  for (const char* part : {"workers=1, seed=0</td><td><span", "workers=1</td><td class=\"number\">2</td>",
                           "<th>workers=1</th><th>workers=2</th>", "<td>0, 1</td><td>0, 1</td>",
                           "workers=2, seed=1, validation</td>", "<summary>workers=2, seed=1</summary>"})
    CHECK_MESSAGE(contains(page, part), part);
  CHECK_FALSE(contains(page, "workers_"));
  CHECK_FALSE(contains(page, "time-"));
}

TEST_CASE("runs that are no repetitions have a column each in the table of differences") {
  const auto write = [](const std::string& name, const std::string& value) {
    return write_run({.name = "digits/" + name,
                      .plan = "[a]\nb = " + value + "\nc = " + value + "\nd = " + value + "\ne = " + value + "\n",
                      .history = {write_line("step", 1, R"("train/loss": 1)")}});
  };
  CHECK(contains(make_report_page({write("first", "1"), write("second", "2")}),
                 "<th></th><th>digits, first</th><th>digits, second</th></tr>\n<tr><th>a.b</th><td>1</td><td>2</td>"));
}

}  // namespace tenon::reporting::report_page_test
