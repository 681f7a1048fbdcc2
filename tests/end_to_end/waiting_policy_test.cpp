// How OpenMP threads wait: what the host sets before the OpenMP library starts, and what it leaves to the user.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

const std::string kUnset = "env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME -u KMP_LIBRARY ";

struct Run {
  std::string log;
  std::string openmp;  // what the OpenMP library prints of the settings that it read
};

// `variables`: of the environment, as env(1) takes them. OMP_DISPLAY_ENV makes the library print its settings.
Run run_with(const std::string& name, const std::string& variables, const std::vector<std::string>& arguments = {}) {
  const fs::path output = make_empty_folder(name);
  std::vector<std::string> all{
      "--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "1", "--set", "train={steps=1}",
      "--set",    "run.output_dir=\"" + output.string() + "\""};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run_host(all, kUnset + variables + " OMP_DISPLAY_ENV=verbose");
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  return {read_file(find_run_folder(output, "digits_mlp") / "log.txt"), outcome.errors};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the host chooses how OpenMP threads wait, and says so") {
  const Run run = run_with("host", "");
  CAPTURE(run.openmp);
  CHECK(has(run.log, "OpenMP threads wait by the host's default: OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=2000"));
  CHECK(has(run.openmp, "OMP_WAIT_POLICY = 'PASSIVE'"));
  CHECK(has(run.openmp, "GOMP_SPINCOUNT = '2000'"));
}

TEST_CASE("the host leaves OMP_WAIT_POLICY to the user") {
  const Run run = run_with("active", "OMP_WAIT_POLICY=active");
  CAPTURE(run.openmp);
  CHECK(has(run.log, "OpenMP threads wait as the environment says: OMP_WAIT_POLICY=active"));
  CHECK(has(run.openmp, "OMP_WAIT_POLICY = 'ACTIVE'"));
}

TEST_CASE("the host leaves GOMP_SPINCOUNT to the user") {
  const Run run = run_with("spins", "GOMP_SPINCOUNT=1234");
  CAPTURE(run.openmp);
  CHECK(has(run.log, "OpenMP threads wait as the environment says: GOMP_SPINCOUNT=1234"));
  CHECK(has(run.openmp, "GOMP_SPINCOUNT = '1234'"));
}

TEST_CASE("the host leaves the waiting of another OpenMP library to the user") {
  CHECK(has(run_with("blocktime", "KMP_BLOCKTIME=10").log,
            "OpenMP threads wait as the environment says: KMP_BLOCKTIME=10"));
}

TEST_CASE("an environment without room for the host's choice is left alone, and the log says so") {
  const Run run = run_with("empty", "-i ASAN_OPTIONS=\"$ASAN_OPTIONS\"");
  CHECK(has(run.log, "OpenMP threads wait by the OpenMP library's default"));
  CHECK_FALSE(has(run.openmp, "GOMP_SPINCOUNT = '2000'"));
}

TEST_CASE("an environment with room for one setting gets the most important one") {
  const Run run = run_with("one", "-i ASAN_OPTIONS=\"$ASAN_OPTIONS\" HOME=/");
  CHECK(run.log.find("the host's default: OMP_WAIT_POLICY=passive\n") != std::string::npos);
  CHECK(has(run.openmp, "GOMP_SPINCOUNT = '0'"));
}

TEST_CASE("every rank chooses, and none takes the launcher's choice for the user's") {
  const Run run = run_with("ranks", "", {"--processes", "2", "--set", "data.batch_size=8"});
  CAPTURE(run.openmp);
  CHECK(has(run.log, "OpenMP threads wait by the host's default: "));
  CHECK(has(run.openmp, "[rank 1]   GOMP_SPINCOUNT = '2000'"));
}
