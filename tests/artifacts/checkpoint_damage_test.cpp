// Any damage to the bytes of a checkpoint is detected, and the message names the file.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "example_checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "scratch.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;
using support::ErrorKind;

namespace {

constexpr int kRounds = 1000;

struct File {
  fs::path path;
  std::string bytes;
};

std::vector<File> read_files(const fs::path& checkpoint) {
  std::vector<File> files;
  for (const std::string& name : list_names(checkpoint))
    files.push_back({checkpoint / name, read_all(checkpoint / name)});
  return files;
}

// Damages randomly sampled files many times and restores them. `damage` changes the bytes of a file.
template <class Damage>
void check_noticed(const Damage& damage) {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  const fs::path checkpoint = write_example(store, 7);
  const std::vector<File> files = read_files(checkpoint);
  REQUIRE(files.size() >= 3);
  std::mt19937_64 random(11);
  int noticed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const File& file = files[random() % files.size()];
    std::string bytes = file.bytes;
    damage(bytes, random);
    write_all(file.path, bytes);
    const std::string message = find_error(ErrorKind::checkpoint, [&] { verify_checkpoint(checkpoint); });
    CAPTURE(message);
    const bool is_named = contains(message, file.path.filename().string());
    CHECK(is_named);
    noticed += is_named ? 1 : 0;
    write_all(file.path, file.bytes);
  }
  CHECK(noticed == kRounds);
  CHECK(verify_checkpoint(checkpoint).step == 7);
}

}  // namespace

TEST_CASE("a flipped bit anywhere in a checkpoint is detected, and its file is named") {
  check_noticed([](std::string& bytes, std::mt19937_64& random) {
    const uint64_t bit = random() % (8 * bytes.size());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  });
}

TEST_CASE("a truncated checkpoint file is detected and named") {
  check_noticed([](std::string& bytes, std::mt19937_64& random) { bytes.resize(random() % bytes.size()); });
}

}  // namespace tenon::artifacts
