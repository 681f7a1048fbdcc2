// Tests runs that resume after their data have changed: refused in the middle of an epoch, reported between epochs.
#include <doctest/doctest.h>

#include <functional>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRest = R"([[loss]]
use = "cross_entropy"
[train]
epochs = 4
[checkpoint]
every = "1 step"
keep = 99
[optimizer]
use = "sgd"
lr = 0.01
)";

// A run of 4 epochs with 3 steps each. Its data are in the folder `data`.
struct Run {
  Run(const std::string& name, const std::string& model, const std::string& dataset,
      const std::function<void(const fs::path&)>& write)
      : folder(make_empty_folder(name)) {
    fs::create_directory(folder / "data");
    write(folder / "data");
    config = write_file(folder / "run.toml", "[run]\noutput_dir = \"" + (folder / "runs").string() + "\"\n[model]\n" +
                                                 model + "\n[data]\nbatch_size = 8\n[data.train]\n" + dataset +
                                                 "\n[data.validation]\nlike = \"train\"\n" + kRest)
                 .string();
    const Outcome outcome = run_host({"--config", config});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    checkpoints = find_run_folder(folder / "runs", "run") / "checkpoints";
  }

  Outcome resume(int step) const {
    const std::string number = std::to_string(step);
    const fs::path from = checkpoints / ("step-" + std::string(8 - number.size(), '0') + number);
    return run_host({"--config", config, "--resume", from.string(), "--check"});
  }

  void check_unchanged() const {
    for (const int step : {2, 3}) {
      const Outcome outcome = resume(step);
      CAPTURE(outcome.errors);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.errors.find("have changed since") == std::string::npos);
    }
  }

  // `difference`: a part of the message.
  void check_changed(const std::string& difference) const {
    const Outcome within = resume(2), between = resume(3);
    CAPTURE(difference);
    CAPTURE(within.errors);
    CAPTURE(between.errors);
    CHECK(within.exit_code == 5);
    CHECK(within.errors.find("step-00000002: the data of train have changed since it was written:") !=
          std::string::npos);
    CHECK(within.errors.find("expected the same data in the middle of epoch 1") != std::string::npos);
    CHECK(between.exit_code == 0);
    CHECK(between.errors.find("warning: the run resumes with data that have changed since") != std::string::npos);
    for (const Outcome& outcome : {within, between}) CHECK(outcome.errors.find(difference) != std::string::npos);
  }

  fs::path folder, checkpoints;
  std::string config;
};

std::string rows(int count, const std::string& odd = "b") {
  std::string text = "x,label\n";
  for (int i = 0; i < count; ++i) text += std::to_string(i) + ',' + (i % 2 == 0 ? "a" : odd) + '\n';
  return text;
}

void write_image(const fs::path& path, int width = 8) {
  write_file(path, "P5\n" + std::to_string(width) + " 8\n255\n" + std::string(static_cast<size_t>(8 * width), 'a'));
}

}  // namespace

TEST_CASE("a table that has changed is refused in the middle of an epoch and reported between epochs") {
  const Run run("table", "use = \"mlp\"\nparams = { hidden = [4] }",
                "use = \"table\"\nparams = { path = \"data/t.csv\", target = \"label\", task = \"classification\" }",
                [](const fs::path& data) { write_file(data / "t.csv", rows(24)); });
  const fs::path file = run.folder / "data/t.csv";
  run.check_unchanged();
  write_file(file, rows(26));
  run.check_changed("samples: 24, now 26");
  // The labels alone, in a file of the same size.
  std::string text = rows(24);
  text[text.find("0,a") + 2] = 'b';
  write_file(file, text);
  run.check_changed("fingerprint: ");
  write_file(file, rows(24));
  run.check_unchanged();
}

TEST_CASE("a folder of images that has changed is refused in the middle of an epoch and reported between epochs") {
  const Run run(
      "images", "use = \"small_cnn\"",
      "use = \"image_folder\"\nparams = { path = \"data\", transforms = [\"resize((8, 8))\", \"normalize()\"] }",
      [](const fs::path& data) {
        for (int i = 0; i < 24; ++i) write_image(data / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(i) + ".pgm"));
      });
  const fs::path data = run.folder / "data";
  run.check_unchanged();
  write_image(data / "dog/99.pgm");
  run.check_changed("samples: 24, now 25");
  fs::rename(data / "dog/99.pgm", data / "dog/1.pgm");
  run.check_unchanged();
  fs::rename(data / "dog/1.pgm", data / "dog/99.pgm");
  run.check_changed("names: 24 names, ");
  fs::rename(data / "dog/99.pgm", data / "dog/1.pgm");
  write_image(data / "dog/1.pgm", 9);
  run.check_changed(", now 24 files, 1808 bytes, ");
  // The folder may move, and other files are no data.
  write_image(data / "dog/1.pgm");
  write_file(data / "notes.txt", "new");
  run.check_unchanged();
  fs::rename(data, run.folder / "moved");
  const Outcome moved =
      run_host({"--config", run.config, "--resume", (run.checkpoints / "step-00000003").string(), "--check", "--set",
                "data.train.params.path=\"" + (run.folder / "moved").string() + '"'});
  CAPTURE(moved.errors);
  CHECK(moved.errors.find("have changed since") == std::string::npos);
}
