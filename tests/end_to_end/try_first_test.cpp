// Tests the checks before a long run: --dry-run, --limit-batches, host overfit and host lr-find.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace try_first_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

std::vector<std::string> with(const fs::path& output, std::vector<std::string> more) {
  more.insert(more.end(), {"--config", kDigits, "--set", "run.output_dir=\"" + output.string() + "\""});
  return more;
}

}  // namespace

TEST_CASE("a dry run runs one step, one validation and one checkpoint, and keeps no files") {
  const fs::path output = make_empty_folder("dry_run");
  const Outcome outcome = require_success(run_host(with(output, {"--dry-run", "--set", "train.accumulate=2"})));
  CHECK(outcome.output.find("finished after 1 step in") != std::string::npos);
  CHECK(outcome.output.find("dry run: one step, its validation and a checkpoint succeeded") != std::string::npos);
  CHECK(fs::is_empty(output));
}

TEST_CASE("a run file needs no --config, and train may be named") {
  const std::string setting = "run.output_dir=\"" + make_empty_folder("short").string() + "\"";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{kDigits}, {"train", kDigits}, {"train", "--config", kDigits}}) {
    CHECK(run_host(joined(words, {"--dry-run", "--set", setting})).exit_code == 0);
  }
  CHECK(run_host({"overfit", kDigits, "--set", setting, "--set", "train.steps=0"}).errors.find("train.steps") !=
        std::string::npos);
}

TEST_CASE("a dry run fails as the run would") {
  const fs::path output = make_empty_folder("failing_dry_run");
  const Outcome outcome =
      run_host(with(output, {"--dry-run", "--set", "optimizer.lr=1e39", "--set", "schedule={use=\"constant\"}"}));
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.output.find("dry run: one step") == std::string::npos);
  CHECK(fs::is_empty(output));
}

TEST_CASE("--limit-batches shortens every epoch and validation") {
  const fs::path output = make_empty_folder("limited_batches");
  const Outcome outcome = require_success(
      run_host(with(output, {"--limit-batches", "2", "--set", "train={epochs=3}", "--set", "data.batch_size=10"})));
  CHECK(outcome.output.find("finished after 6 steps") != std::string::npos);
}

TEST_CASE("overfit reports whether a few samples are learnt and keeps no files") {
  const fs::path output = make_empty_folder("overfit");
  const Outcome memorized = require_success(run_host(with(output, {"overfit", "--samples", "8", "--steps", "400"})));
  CHECK(memorized.output.starts_with("8 samples: loss 2."));
  CHECK(memorized.output.find("below the threshold of 0.01") != std::string::npos);

  const Outcome slow = run_host(with(output, {"overfit", "--steps", "3", "--set", "optimizer.lr=1e-9"}));
  CHECK(slow.exit_code == 8);
  CHECK(slow.output.find("NOT below the threshold") != std::string::npos);
  CHECK(slow.output.find("raise optimizer.lr (1e-09)") != std::string::npos);
  CHECK(fs::is_empty(output));
}

TEST_CASE("lr-find prints the losses and suggests a learning rate") {
  const Outcome outcome = require_success(run_host({"lr-find", "--config", kDigits, "--json", "--steps", "60"}));
  const nlohmann::json search = nlohmann::json::parse(outcome.output);
  CHECK(search["trials"].size() > 30);
  CHECK(search["trials"][0]["lr"] == 1e-7);
  const double suggestion = search["suggestion"];
  CHECK(suggestion > 1e-5);
  CHECK(suggestion < 1);

  const fs::path folder = make_empty_folder("lr_find");
  const Outcome text =
      run_host({"lr-find", "--config", kDigits, "--steps", "60", "--plot", (folder / "lr.svg").string()});
  CHECK(text.output.find("the loss falls fastest at optimizer.lr = ") != std::string::npos);
  CHECK(text.output.find("  <- suggestion\n") != std::string::npos);
  const std::string plot = read_file(folder / "lr.svg");
  for (const char* part : {"<svg", "log10(learning rate)", "smoothed loss"})
    CHECK_MESSAGE(plot.find(part) != std::string::npos, part);
}

TEST_CASE("a short search with a falling loss has a suggestion") {
  const Outcome outcome =
      require_success(run_host({"lr-find", "--config", kDigits, "--from", "1e-4", "--to", "0.1", "--steps", "8"}));
  CHECK(outcome.output.find("  <- suggestion\n") != std::string::npos);
}

TEST_CASE("invalid numbers on the command line are refused") {
  CHECK(run_host({"overfit", "--config", kDigits, "--samples", "0"}).exit_code == 2);
  CHECK(run_host({"overfit", "--config", kDigits, "--steps", "0"}).exit_code == 2);
  CHECK(run_host({"lr-find", "--config", kDigits, "--from", "1", "--to", "0.1"}).exit_code == 2);
  CHECK(run_host({"lr-find", "--config", kDigits, "--steps", "1"}).exit_code == 2);
  CHECK(run_host({"--config", kDigits, "--limit-batches", "0"}).exit_code == 2);
  CHECK(run_host({"--config", kDigits, "--check", "--dry-run"}).exit_code == 2);
}

}  // namespace try_first_test
