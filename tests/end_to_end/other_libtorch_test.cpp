// Tests the host with another LibTorch: in the loader's search path, and by TENON_LIBTORCH.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

TEST_CASE("another LibTorch in LD_LIBRARY_PATH is not loaded") {
  const fs::path folder = make_empty_folder("other_libtorch");
  for (const char* const name : {"libc10.so", "libtorch_cpu.so"})
    fs::copy_file(TENON_BINARY_DIR "/plugins/mlp.so", folder / name);
  require_success(run_host({"--version"}, "env LD_LIBRARY_PATH='" + folder.string() + "'"));
}

// A folder with the libraries of this build's LibTorch that says to be another release of its minor version.
TEST_CASE("another build of LibTorch that fits is used, named, and warned of when a run resumes with it") {
  const fs::path folder = make_empty_folder("variant");
  fs::create_symlink(fs::path(LIBTORCH) / "lib", folder / "lib");
  write_file(folder / "version.py", "__version__ = '" LIBTORCH_MINOR ".9+another'\n");
  const std::string prefix = "env TENON_LIBTORCH='" + folder.string() + "'";
  const Outcome version = require_success(run_host({"--version"}, prefix));
  CHECK(tenon::contains(version.output, "libtorch " LIBTORCH_MINOR ".9+another,"));

  const fs::path output = make_empty_folder("runs");
  const auto train = [&](const std::string& epochs, const std::vector<std::string>& more, const std::string& before) {
    return require_success(
        run_host(joined({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "2", "--set",
                         "train.epochs=" + epochs, "--set", "run.output_dir=\"" + output.string() + "\""},
                        more),
                 before));
  };
  CHECK_FALSE(tenon::contains(train("1", {}, "").errors, "LibTorch"));
  CHECK_FALSE(tenon::contains(train("2", {"--resume", "latest"}, "").errors, "LibTorch"));
  const std::string errors = train("3", {"--resume", "latest"}, prefix).errors;
  CAPTURE(errors);
  CHECK(tenon::contains(errors, "warning: the checkpoint was written with LibTorch " LIBTORCH_MINOR));
  CHECK(tenon::contains(errors, "continues with " LIBTORCH_MINOR ".9+another,"));
}

TEST_CASE("a LibTorch of another minor version is refused before it is loaded, with exit code 127") {
  const fs::path folder = make_empty_folder("unfit");
  write_file(folder / "lib/libtorch_cpu.so", "");
  write_file(folder / "version.py", "__version__ = '1.13.0'\n");
  check_errors(run_host({"--version"}, "env TENON_LIBTORCH='" + folder.string() + "'"), 127,
               {"error: " + folder.string() + ": is LibTorch 1.13.0; expected LibTorch " LIBTORCH_MINOR});
  check_errors(run_host({"--version"}, "env TENON_LIBTORCH=/nowhere"), 127,
               {"error: TENON_LIBTORCH=/nowhere: no lib/libtorch_cpu.so there"});
}
