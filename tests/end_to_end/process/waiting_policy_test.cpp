// Tests the wait policy of OpenMP threads: the host's settings and those of the user.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

const std::string kUnset = "env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME -u KMP_LIBRARY ";

struct Run {
  std::string log;
  std::string openmp;  // the settings that the OpenMP library prints
};

// `variables`: environment variables as arguments of env(1). OMP_DISPLAY_ENV makes the library print its settings.
Run run_with(const std::string& name, const std::string& variables, const std::vector<std::string>& arguments = {}) {
  const fs::path output = make_empty_folder(name);
  const Outcome outcome = require_success(
      run_host(joined({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "1", "--set",
                       "train={steps=1}", "--set", "run.output_dir=\"" + output.string() + "\""},
                      arguments),
               kUnset + variables + " OMP_DISPLAY_ENV=verbose"));
  return {read_file(find_run_folder(output, "digits_mlp") / "log.txt"), outcome.errors};
}

}  // namespace

TEST_CASE("the host sets the OpenMP wait policy and logs it") {
  const Run run = run_with("host", "");
  CAPTURE(run.openmp);
  CHECK(contains(run.log, "OpenMP wait policy from the host: OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=10000"));
  CHECK(contains(run.openmp, "OMP_WAIT_POLICY = 'PASSIVE'"));
  CHECK(contains(run.openmp, "GOMP_SPINCOUNT = '10000'"));
}

TEST_CASE("the host does not override OMP_WAIT_POLICY of the user") {
  const Run run = run_with("active", "OMP_WAIT_POLICY=active");
  CAPTURE(run.openmp);
  CHECK(contains(run.log, "OpenMP wait policy from the environment: OMP_WAIT_POLICY=active"));
  CHECK(contains(run.openmp, "OMP_WAIT_POLICY = 'ACTIVE'"));
}

TEST_CASE("the host does not override GOMP_SPINCOUNT of the user") {
  const Run run = run_with("spins", "GOMP_SPINCOUNT=1234");
  CAPTURE(run.openmp);
  CHECK(contains(run.log, "OpenMP wait policy from the environment: GOMP_SPINCOUNT=1234"));
  CHECK(contains(run.openmp, "GOMP_SPINCOUNT = '1234'"));
}

TEST_CASE("the host does not override the settings of another OpenMP library") {
  CHECK(contains(run_with("blocktime", "KMP_BLOCKTIME=10").log,
                 "OpenMP wait policy from the environment: KMP_BLOCKTIME=10"));
}

TEST_CASE("the host sets the policy in an empty environment, too") {
  const Run run = run_with("empty", "-i ASAN_OPTIONS=\"$ASAN_OPTIONS\"");
  CHECK(contains(run.log, "OpenMP wait policy from the host: OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=10000"));
  CHECK(contains(run.openmp, "GOMP_SPINCOUNT = '10000'"));
}

TEST_CASE("every rank sets the policy, and no rank takes the launcher's setting for the user's") {
  const Run run = run_with("ranks", "", {"--processes", "2", "--set", "data.batch_size=8"});
  CAPTURE(run.openmp);
  CHECK(contains(run.log, "OpenMP wait policy from the host: "));
  CHECK(contains(run.openmp, "[rank 1]   GOMP_SPINCOUNT = '10000'"));
}
