#include <doctest/doctest.h>

#include "tests/datasets/opened_dataset.h"
#include "tests/end_to_end/hosted_run.h"

namespace pack_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits.toml";

Outcome pack(const std::string& data, const fs::path& out, const std::vector<std::string>& more = {}) {
  return run_host(joined({"pack", "--config", kDigits, "--data", data, "--output", out.string()}, more));
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  check_errors(run_host(arguments), 2, {message});
}

}  // namespace

TEST_CASE("packed digits are read back bit for bit") {
  const fs::path folder = make_empty_folder("packed_digits");
  const Outcome outcome = require_success(pack("validation", folder / "shards", {"--shard-samples", "100"}));
  CHECK(outcome.output.find("  validation-000003.tar  59 samples  0.1 MiB\nvalidation: 359 samples in 4 shards, in ") !=
        std::string::npos);

  const OpenedDataset digits(TENON_BINARY_DIR "/plugins/digits.so", {{"split", "test"}});
  const OpenedDataset packed(TENON_BINARY_DIR "/plugins/tar_shards.so", {{"path", (folder / "shards").string()}});
  CHECK(packed.describe_fields() == digits.describe_fields());
  REQUIRE(packed.size() == 359);
  for (int64_t i = 0; i < packed.size(); ++i) CHECK(packed.get(i) == digits.get(i));
}

TEST_CASE("packing uses the subset and the seed of the run file") {
  const fs::path folder = make_empty_folder("packed_parts");
  const auto first_shard = [&](const std::string& name, const std::vector<std::string>& more) {
    const Outcome outcome =
        require_success(pack("train", folder / name, joined({"--set", "data.train.subset=10%"}, more)));
    CHECK(outcome.output.find("train: 143 samples in 1 shard, in ") != std::string::npos);
    return read_file(folder / name / "train-000000.tar");
  };
  const std::string in_order = first_shard("a", {});
  CHECK(in_order == first_shard("b", {"--set", "data.workers=0"}));
  const std::string shuffled = first_shard("c", {"--shuffle"});
  CHECK(shuffled != in_order);
  CHECK(shuffled.size() == in_order.size());
  CHECK(shuffled != first_shard("d", {"--shuffle", "--set", "run.seed=1"}));
}

TEST_CASE("wrong arguments of pack end with code 2 and a suggestion") {
  const fs::path folder = make_empty_folder("refused_pack");
  check_refused({"pack"}, "pack has no --config; expected host pack --config FILE --data NAME --output DIR");
  check_refused({"pack", "--config", kDigits, "--data", "train"}, "pack has no --output");
  const std::vector<std::string> whole{
      "pack", "--config", kDigits, "--data", "train", "--output", (folder / "out").string()};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), whole.begin(), whole.end());
    return more;
  };
  check_refused(with({"--shard-bytes", "1.5GB"}), "--shard-bytes is 1.5GB; expected a size such as 256MiB");
  check_refused(with({"--shard-bytes", "99999999999999GiB"}), "expected a size such as 256MiB");
  check_refused(with({"--shard-samples", "0"}), "--shard-samples is 0; expected at least 1");
  check_refused({"pack", "--config", kDigits, "--data", "validaton", "--output", (folder / "out").string()},
                "--data is \"validaton\"; did you mean \"validation\"?");
  write_file(folder / "out/a", "a");
  check_refused(whole, "out: already exists and is not an empty folder");
}

}  // namespace pack_test
