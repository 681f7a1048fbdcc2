// The dataset of examples/mnist through the C table that the host uses.
#include <doctest/doctest.h>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace {

using Texts = std::vector<std::string>;
using Bytes = std::vector<uint8_t>;

// Three images of 2 x 4 pixels with the levels 0, 10, 20 and so on.
Bytes make_images() {
  Bytes file = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4};
  for (int i = 0; i < 24; ++i) file.push_back(static_cast<uint8_t>(10 * i));
  return file;
}

struct Files {
  explicit Files(const Bytes& images = make_images(), const Bytes& labels = {0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9}) {
    write_file(folder / "images", images);
    write_file(folder / "labels", labels);
  }
  std::filesystem::path folder = make_empty_folder("mnist");

  OpenedDataset open(double mean = 0, double std = 1) const {
    return OpenedDataset(TENON_MNIST, {{"images", (folder / "images").string()},
                                       {"labels", (folder / "labels").string()},
                                       {"mean", mean},
                                       {"std", std}});
  }
  // The message of the dataset without the path of `file`.
  std::string refusal(const std::string& file = "images") const {
    const std::string path = (folder / file).string() + ": ";
    const std::string text = error_of<Refused>([&] { open(); });
    REQUIRE(text.find(path) == 0);
    return text.substr(path.size());
  }
};

}  // namespace

TEST_CASE("images are normalised, and the largest label gives the number of classes") {
  const Files files;
  const OpenedDataset digits = files.open();
  CHECK(digits.size() == 3);
  CHECK(digits.describe_fields() == Texts{"image float32 1,2,4", "label int64"});
  CHECK(digits.describe_classes() == Texts{"label: 10"});
  const std::vector<float> image = digits.floats(2, "image");
  REQUIRE(image.size() == 8);
  for (size_t i = 0; i < 8; ++i) CHECK(image[i] == doctest::Approx(10.0 * (16.0 + static_cast<double>(i)) / 255));
  CHECK(digits.integer(0, "label") == 7);
  CHECK(digits.integer(2, "label") == 9);
  CHECK(files.open(0.5, 0.25).floats(0, "image")[1] == doctest::Approx((10.0 / 255 - 0.5) / 0.25));
}

TEST_CASE("a file that is not an IDX file of bytes is refused by name") {
  const std::string expected = "expected an IDX file of unsigned bytes with 3 dimensions";
  const auto changed = [](size_t at, uint8_t byte) {
    Bytes file = make_images();
    file[at] = byte;
    return file;
  };
  for (const Bytes& images :
       {Bytes{}, Bytes{0, 0, 8}, Bytes{0, 0, 8, 3, 0, 0, 0, 1, 0, 0}, changed(2, 0x0D), changed(3, 1), changed(0, 'P')})
    CHECK(Files(images).refusal() == expected);
  CHECK(Files({0x1F, 0x8B, 8, 3}).refusal() == "is compressed by gzip; uncompress it with gunzip");
  const Files files;
  std::filesystem::remove(files.folder / "images");
  CHECK(files.refusal() == "cannot be opened");
}

TEST_CASE("a file of another length than its header says is refused, also if the number of bytes overflows") {
  Bytes shorter = make_images(), longer = make_images(), empty = make_images(), huge = make_images();
  shorter.pop_back();
  longer.push_back(0);
  empty[11] = 0;
  std::fill(huge.begin() + 4, huge.begin() + 16, uint8_t{0xFF});
  for (const Bytes& images : {shorter, longer, empty, huge})
    CHECK(Files(images).refusal().find(" bytes after its header, which says another number") != std::string::npos);
}

TEST_CASE("a number of labels other than the number of images is refused") {
  const Files files(make_images(), {0, 0, 8, 1, 0, 0, 0, 2, 7, 0});
  CHECK(files.refusal("labels").find("has 2 labels; expected 3, one for each image of ") == 0);
}
