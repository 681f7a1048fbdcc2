#include "framework/packing/pack_shards.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <cstring>
#include <numeric>

#include "framework/support/diagnostics/error.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/messages.h"
#include "tests/packing/read_bytes.h"

namespace fs = std::filesystem;
using namespace tenon;
using packing::PackedShard;

namespace {

// Images of 2 x (1 + index % 3) pixels, a label, a fixed array and one of varying length, filled from index and seed.
class Pictures final : public data::SampleSource {
 public:
  explicit Pictures(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  std::unique_ptr<Worker> open_worker(uint64_t, uint64_t) override { return std::make_unique<Reader>(*this); }

  int64_t failing = -1;

 private:
  struct Reader final : Worker {
    explicit Reader(const Pictures& owner) : owner(owner) {}
    void get(const data::SampleRequest& request, std::span<const data::SampleSlot> slots) override {
      if (request.index == owner.failing) {
        throw support::Error(support::ErrorKind::data, "sample " + std::to_string(request.index) + " is damaged");
      }
      CHECK(request.epoch == 0);
      const int64_t width = 1 + request.index % 3;
      const int64_t image[] = {2, width, 3};
      std::byte* pixels = slots[0].varying->resize(image, static_cast<size_t>(6 * width));
      for (int64_t i = 0; i < 6 * width; ++i) pixels[i] = static_cast<std::byte>(40 * i + request.index);
      std::memcpy(slots[1].fixed, &request.index, 8);
      const float numbers[] = {static_cast<float>(request.index), static_cast<float>(request.seed % 1000)};
      std::memcpy(slots[2].fixed, numbers, 8);
      const int64_t length[] = {request.index % 2};
      std::memset(slots[3].varying->resize(length, static_cast<size_t>(length[0])), 7, static_cast<size_t>(length[0]));
    }
    const Pictures& owner;
  };

  int64_t size_;
  std::vector<data::Field> fields_ = {{"image", TENON_UINT8, {2, -1, 3}, 1, 0},
                                      {"label", TENON_INT64, {}, 8, 8},
                                      {"Numbers", TENON_FLOAT32, {2}, 4, 8},
                                      {"few", TENON_UINT8, {-1}, 1, 0}};
};

const std::atomic<int> kNoStop = 0;

packing::PackOptions make_options(const fs::path& folder, int64_t samples) {
  packing::PackOptions options{.folder = folder, .name = "validation/clean"};
  options.order.resize(static_cast<size_t>(samples));
  std::iota(options.order.begin(), options.order.end(), int64_t{0});
  return options;
}

std::vector<PackedShard> pack(Pictures& pictures, const packing::PackOptions& options,
                              const std::atomic<int>& stop = kNoStop) {
  return packing::pack_shards(
      pictures, options, [](const PackedShard&) {}, stop);
}

OpenedDataset open(const fs::path& path) {
  using Texts = std::vector<std::string>;
  return OpenedDataset(TENON_BINARY_DIR "/plugins/tar_shards.so", {{"path", path.string()},
                                                                   {"fields", Texts{}},
                                                                   {"classes", Texts{}},
                                                                   {"padding", 0.0},
                                                                   {"transforms", Texts{}},
                                                                   {"scaled_decoding", true},
                                                                   {"cache", "none"},
                                                                   {"cache_bytes", int64_t{1} << 30},
                                                                   {"cache_dir", ""},
                                                                   {"max_pixels", int64_t{1000}}});
}

}  // namespace

TEST_CASE("every shard keeps the names of classes") {
  const fs::path folder = make_absent_folder("named");
  Pictures pictures(2);
  packing::PackOptions options = make_options(folder, 2);
  options.shard_samples = 1;
  options.class_names = {{"label", {"cat", "b\xC3\xA9\x65 \"x\""}}, {"few", {"sky"}}};
  REQUIRE(pack(pictures, options).size() == 2);
  for (const char* shard : {"validation-clean-000000.tar", "validation-clean-000001.tar"})
    CHECK(open(folder / shard).describe_classes() ==
          std::vector<std::string>{"label: cat, b\xC3\xA9\x65 \"x\"", "few: sky"});
  const OpenedDataset packed = open(folder);
  CHECK(packed.size() == 2);
  CHECK(packed.integer(1, "label") == 1);
}

TEST_CASE("tar_shards reads back the packed samples") {
  const fs::path folder = make_absent_folder("there_and_back");
  Pictures pictures(7);
  packing::PackOptions options = make_options(folder, 7);
  options.order = {6, 0, 3, 1, 2, 5, 4};
  options.shard_samples = 3;
  const std::vector<PackedShard> shards = pack(pictures, options);
  REQUIRE(shards.size() == 3);
  CHECK(shards[2].name == "validation-clean-000002.tar");
  CHECK(shards[2].samples == 1);
  CHECK(shards[0].bytes == fs::file_size(folder / shards[0].name));

  const OpenedDataset packed = open(folder);
  REQUIRE(packed.size() == 7);
  CHECK(packed.describe_fields() ==
        std::vector<std::string>{"image uint8 -1,-1,3", "label int64", "Numbers float32 2", "few uint8 -1"});
  for (int64_t place = 0; place < 7; ++place) {
    const int64_t index = options.order[static_cast<size_t>(place)];
    CAPTURE(index);
    CHECK(packed.integer(place, "label") == index);
    std::vector<uint8_t> pixels(static_cast<size_t>(6 * (1 + index % 3)));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(40 * static_cast<int64_t>(i) + index);
    CHECK(packed.bytes(place, "image") == pixels);
    CHECK(packed.floats(place, "Numbers")[0] == static_cast<float>(index));
    CHECK(packed.bytes(place, "few") == std::vector<uint8_t>(static_cast<size_t>(index % 2), 7));
  }
}

TEST_CASE("shards are the same for any number of workers, and depend on the seed") {
  std::string first;
  for (const int64_t workers : {0, 1, 4}) {
    const fs::path folder = make_absent_folder("workers");
    Pictures pictures(50);
    packing::PackOptions options = make_options(folder, 50);
    options.workers = workers;
    pack(pictures, options);
    const std::string bytes = read_bytes(folder / "validation-clean-000000.tar");
    CHECK(bytes.size() > 50 * 8 * 512);
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  const fs::path folder = make_absent_folder("workers");
  Pictures pictures(50);
  packing::PackOptions options = make_options(folder, 50);
  options.seed = 1;
  pack(pictures, options);
  CHECK(read_bytes(folder / "validation-clean-000000.tar") != first);
}

TEST_CASE("no shard exceeds its limit, unless a single sample does") {
  const fs::path folder = make_absent_folder("bytes");
  Pictures pictures(20);
  packing::PackOptions options = make_options(folder, 20);
  options.shard_bytes = 3 * 8 * 512 + 1024;  // three samples of four small files
  const std::vector<PackedShard> shards = pack(pictures, options);
  CHECK(shards.size() == 7);
  for (const PackedShard& shard : shards) CHECK(shard.bytes <= options.shard_bytes);

  fs::remove_all(folder);
  options.shard_bytes = 1;
  CHECK(pack(pictures, options).size() == 20);
}

TEST_CASE("a sample that cannot be read leaves no folder") {
  const fs::path folder = make_absent_folder("failing");
  Pictures pictures(20);
  pictures.failing = 13;
  CHECK_THROWS_WITH_AS(pack(pictures, make_options(folder / "shards", 20)), "sample 13 is damaged", support::Error);
  CHECK(fs::is_empty(folder));
}

TEST_CASE("a signal stops packing and leaves no folder") {
  const fs::path folder = make_absent_folder("stopped");
  Pictures pictures(20);
  const std::atomic<int> stop = 15;
  CHECK(pack(pictures, make_options(folder / "shards", 20), stop).empty());
  CHECK(fs::is_empty(folder));
}

TEST_CASE("a folder with content is unchanged, and an empty one is filled") {
  const fs::path folder = make_absent_folder("taken");
  Pictures pictures(2);
  fs::create_directories(folder);
  CHECK(pack(pictures, make_options(folder / "", 2)).size() == 1);
  const std::string before = read_bytes(folder / "validation-clean-000000.tar");
  CHECK(find_error(support::ErrorKind::configuration, [&] {
          pack(pictures, make_options(folder, 1));
        }).starts_with(folder.string() + ": already exists and is not an empty folder"));
  CHECK(read_bytes(folder / "validation-clean-000000.tar") == before);
}
