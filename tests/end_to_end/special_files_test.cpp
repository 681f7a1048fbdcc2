// FIFOs and devices where files are expected. Before, the host waited for a writer that never came, or read a device
// without end. `timeout` ends such a host; no outcome depends on its duration.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/end_to_end/hosted_run.h"

namespace special_files_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

const char* const kGuard = "timeout 100";

fs::path make_fifo(const fs::path& path) {
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  return path;
}

void check_refused(const Outcome& outcome, int exit_code, const std::string& message) {
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.errors.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("a run file that is a FIFO, a pipe or a device ends with code 2") {
  const std::string fifo = make_fifo(make_empty_folder("fifo") / "run.toml").string();
  check_refused(run_host({"--config", fifo}, kGuard), 2, fifo + ": is a FIFO; expected a regular file");
  check_refused(run_host({"--config", "/dev/zero"}, kGuard), 2, "/dev/zero: is a device; expected a regular file");
  check_refused(run_host({"--config", "/dev/stdin"}, "sh -c 'true | timeout 100 \"$0\" \"$@\"'"), 2,
                "/dev/stdin: is a FIFO; expected a regular file");
}

TEST_CASE("a dataset's file that is a FIFO or a device ends with code 4") {
  const fs::path folder = make_empty_folder("datasets");
  const std::string fifo = make_fifo(folder / "fifo").string();
  const auto check = [&](const std::string& use, const std::string& params, const std::string& path) {
    CAPTURE(use);
    const std::string file = write_file(folder / "run.toml", R"(
      [model]
      use = "small_cnn"
      params = { classes = 10 }
      [data]
      batch_size = 4
      [data.train]
      use = ")" + use + R"("
      params = { )" + params + R"( }
      [[loss]]
      use = "cross_entropy"
      [train]
      epochs = 1
      [optimizer]
      use = "sgd"
      lr = 0.1
    )")
                                 .string();
    const std::string kind = path == fifo ? "a FIFO" : "a device";
    const std::string sheet = (folder / "sheet.html").string();  // reads samples
    check_refused(run_host({"data", "--config", file, "--seconds", "0", "--sheet", sheet}, kGuard), 4,
                  path + ": is " + kind + "; expected a regular file");
  };
  write_file(folder / "image.csv", "path,label\nfifo,a\n");
  const std::string labels = ", labels = [\"label\"]";
  check("image_csv", "path = \"image.csv\"" + labels, fifo);
  for (const std::string& path : {fifo, std::string("/dev/zero")}) {
    const std::string param = "path = \"" + path + '"';
    check("arrays", param, path);
    check("image_csv", param + labels, path);
    check("table", param + ", target = \"y\", task = \"regression\"", path);
    check("tar_shards", param, path);
    check("text_pairs", param + ", source = \"a\", target = \"b\"", path);
    check("text_windows", param, path);
  }
}

TEST_CASE("a run or a checkpoint with a FIFO instead of a file ends with code 5") {
  const fs::path run = make_empty_folder("run");
  fs::create_directory(run / "checkpoints");
  write_file(run / "plan.toml", "");
  write_file(run / "run.json", "{}");
  const std::string history = make_fifo(run / "history.jsonl").string();
  check_refused(run_host({"report", run.string()}, kGuard), 5, history + ": is a FIFO; expected a regular file");
  fs::remove(run / "run.json");
  const std::string record = make_fifo(run / "run.json").string();
  check_refused(run_host({"report", run.string()}, kGuard), 5, record + ": is a FIFO; expected a regular file");
  const fs::path checkpoint = make_empty_folder("checkpoint");
  make_fifo(checkpoint / "manifest.json");
  check_refused(run_host({"checkpoint", "verify", checkpoint.string()}, kGuard), 5, "manifest.json: is ");
}

}  // namespace special_files_test
