// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace idx_test {

namespace fs = std::filesystem;

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/idx.so";

using Texts = std::vector<std::string>;
using Bytes = std::vector<uint8_t>;

// Three images of 2 x 4 pixels with the levels 0, 10, 20 and so on.
Bytes make_images() {
  Bytes file = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4};
  for (int i = 0; i < 24; ++i) file.push_back(static_cast<uint8_t>(10 * i));
  return file;
}

Bytes make_labels() { return {0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9}; }

struct Files {
  explicit Files(const Bytes& images = make_images(), const Bytes& labels = make_labels()) {
    write_file(folder / "images", images);
    write_file(folder / "labels", labels);
  }
  fs::path folder = make_empty_folder("idx");
  ParamValues params = {{"images", (folder / "images").string()},
                        {"labels", (folder / "labels").string()},
                        {"normalize", true},
                        {"mean", 0.0},
                        {"std", 1.0}};

  OpenedDataset open(const ParamValues& changes = {}) const {
    ParamValues all = params;
    for (const auto& [name, value] : changes) all[name] = value;
    return OpenedDataset(kPlugin, all);
  }
  std::string refusal(const ParamValues& changes = {}) const {
    return error_of<Refused>([&] { open(changes); });
  }
};

}  // namespace

TEST_CASE("idx gives each image in [0, 1] with its label") {
  const Files files;
  const OpenedDataset images = files.open();
  CHECK(images.size() == 3);
  CHECK(images.describe_fields() == Texts{"image float32 1,2,4", "label int64"});
  const std::vector<float> image = images.floats(2, "image");
  REQUIRE(image.size() == 8);
  for (size_t i = 0; i < 8; ++i) CHECK(image[i] == doctest::Approx(10.0 * (16.0 + static_cast<double>(i)) / 255));
  CHECK(images.integer(0, "label") == 7);
  CHECK(images.integer(2, "label") == 9);
}

TEST_CASE("idx normalises by mean and standard deviation, or keeps the bytes") {
  const Files files;
  CHECK(files.open({{"mean", 0.5}, {"std", 0.25}}).floats(0, "image")[1] == doctest::Approx((10.0 / 255 - 0.5) / 0.25));
  const OpenedDataset bytes = files.open({{"normalize", false}});
  CHECK(bytes.describe_fields() == Texts{"image uint8 1,2,4", "label int64"});
  CHECK(bytes.bytes(1, "image") == Bytes{80, 90, 100, 110, 120, 130, 140, 150});
}

TEST_CASE("without a file of labels idx gives only images") {
  CHECK(Files().open({{"labels", ""}}).describe_fields() == Texts{"image float32 1,2,4"});
}

TEST_CASE("a file that is not an IDX file of bytes is refused by name") {
  const auto complaint = [](const Bytes& images) {
    const Files files(images);
    const std::string path = (files.folder / "images").string();
    const std::string text = files.refusal();
    REQUIRE(text.find(path + ": ") == 0);
    return text.substr(path.size() + 2);
  };
  CHECK(complaint({}) == "is empty; expected an IDX file");
  CHECK(complaint({0, 0, 8}).find("does not begin like an IDX file; expected images") == 0);
  CHECK(complaint({0x1F, 0x8B, 8, 3}).find("is compressed by gzip") == 0);
  CHECK(complaint(make_labels())
            .find("holds elements of type 8 in 1 dimensions; expected images: an IDX file of "
                  "unsigned bytes in 3 dimensions") == 0);
  Bytes wrong = make_images();
  wrong[2] = 0x0D;
  CHECK(complaint(wrong).find("holds elements of type 13 in 3 dimensions") == 0);
  CHECK(complaint({0, 0, 8, 3, 0, 0, 0, 1, 0, 0}).find("ends within its header") == 0);
  wrong = make_images();
  wrong[11] = 0;
  CHECK(complaint(wrong).find("dimension 2 is 0") == 0);
}

TEST_CASE("a file that is shorter or longer than its header says is refused") {
  Bytes shorter = make_images();
  shorter.pop_back();
  CHECK(Files(shorter).refusal().find("holds 23 bytes after its header, which says 3 x 2 x 4") != std::string::npos);
  Bytes longer = make_images();
  longer.push_back(0);
  CHECK(Files(longer).refusal().find("holds 25 bytes") != std::string::npos);
  Bytes huge = make_images();
  std::fill(huge.begin() + 4, huge.begin() + 16, uint8_t{0xFF});
  CHECK(Files(huge).refusal().find("which says 4294967295 x 4294967295 x 4294967295") != std::string::npos);
}

TEST_CASE("a number of labels other than the number of images is refused") {
  const Files files(make_images(), {0, 0, 8, 1, 0, 0, 0, 2, 7, 0});
  CHECK(files.refusal().find((files.folder / "labels").string() + ": holds 2 labels; expected 3") == 0);
}

TEST_CASE("a missing file and a folder are refused by name") {
  const Files files;
  const std::string missing = (files.folder / "nowhere").string();
  CHECK(files.refusal({{"images", missing}}).find(missing + ": cannot be read: No such file") == 0);
  CHECK(files.refusal({{"images", files.folder.string()}}) ==
        files.folder.string() + ": is a folder; expected a regular file");
}

TEST_CASE("a file of images that was shortened while it is in use is reported with its sizes") {
  const Files files;
  const OpenedDataset images = files.open();
  const std::string path = (files.folder / "images").string();
  fs::resize_file(path, 30);
  CHECK(images.floats(0, "image").size() == 8);
  const std::string text = error_of<Refused>([&] { images.get(1); });
  CHECK(text == path +
                    ": ends at byte 30; expected 32 bytes or more; it had 40 bytes when it was opened; do not modify "
                    "the files of a dataset while it is in use");
  fs::remove(path);
  CHECK(images.floats(0, "image").size() == 8);  // a removed file stays open
}

}  // namespace idx_test
