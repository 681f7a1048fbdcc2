// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/datasets/written_masks.h"

namespace segmentation_test {

namespace fs = std::filesystem;

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/segmentation.so";

using Texts = std::vector<std::string>;

const std::string kUnchanged = "normalize(mean=0, std=1)";

ParamValues make_params(const fs::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()},
                       {"images", "images"},
                       {"masks", "masks"},
                       {"classes", int64_t{3}},
                       {"ignore_index", int64_t{255}},
                       {"transforms", Texts{kUnchanged}}},
                      changes);
}

// Vertical stripes of the classes 0, 1 and 2 over blocks of rows.
cv::Mat make_numbers(int width, int height) {
  cv::Mat numbers(height, width, CV_8UC1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) numbers.at<uchar>(y, x) = static_cast<uchar>((x / 5 + y / 7) % 3);
  }
  return numbers;
}

// The levels of the image encode the classes: 100 times the class.
cv::Mat make_image_of(const cv::Mat& numbers) {
  cv::Mat levels;
  numbers.convertTo(levels, CV_8U, 100);
  cv::Mat image;
  cv::merge(std::vector<cv::Mat>{levels, levels, levels}, image);
  return image;
}

fs::path make_pair(const std::string& name, const cv::Mat& numbers, const std::vector<uint8_t>& mask) {
  const fs::path root = make_empty_folder(name);
  write_file(root / "images" / "street" / "1.png", encode(".png", make_image_of(numbers)));
  write_file(root / "masks" / "street" / "1.png", mask);
  return root;
}

std::vector<int64_t> mask_of(const OpenedDataset& dataset, int64_t index, uint64_t seed = 0) {
  return dataset.integers(index, "mask", seed);
}

std::vector<int64_t> to_vector(const cv::Mat& numbers) { return {numbers.begin<uchar>(), numbers.end<uchar>()}; }

std::string refusal(const ParamValues& params) {
  return error_of<Refused>([&] { OpenedDataset(kPlugin, params).get(0); });
}

}  // namespace

TEST_CASE("segmentation gives the image and the class of each pixel") {
  const cv::Mat numbers = make_numbers(31, 17);
  const fs::path root = make_pair("grey_mask", numbers, encode(".png", numbers));
  const OpenedDataset pairs(kPlugin, make_params(root));
  CHECK(pairs.size() == 1);
  CHECK(pairs.describe_fields() == Texts{"image float32 3,-1,-1", "mask int64 -1,-1"});
  CHECK(pairs.describe_classes() == Texts{"mask: 3"});
  CHECK(mask_of(pairs, 0) == to_vector(numbers));
  const OpenedDataset cropped(kPlugin, make_params(root, {{"transforms", Texts{"center_crop((8, 12))"}}}));
  CHECK(cropped.describe_fields() == Texts{"image uint8 8,12,3", "mask int64 8,12"});
}

TEST_CASE("a mask has the stored numbers, not colours or rescaled levels") {
  const cv::Mat numbers = make_numbers(31, 17);
  // Classes 1 and 2 have the same colour.
  const std::vector<uint8_t> palette = with_palette(encode(".png", numbers), {{0, 0, 0}, {9, 9, 9}, {9, 9, 9}});
  CHECK(mask_of(OpenedDataset(kPlugin, make_params(make_pair("palette", numbers, palette))), 0) == to_vector(numbers));
  const cv::Mat two = numbers > 0;
  const std::vector<uint8_t> bits = encode_one_bit(two);
  const std::vector<int64_t> read = mask_of(OpenedDataset(kPlugin, make_params(make_pair("bits", numbers, bits))), 0);
  CHECK(read == to_vector(two / 255));
}

TEST_CASE("image and mask are transformed with the same random values") {
  const cv::Mat numbers = make_numbers(64, 48);
  const fs::path root = make_pair("moved", numbers, encode(".png", numbers));
  const Texts transforms = {"random_resized_crop(20, interpolation=nearest)", "horizontal_flip()", "vertical_flip()",
                            "random_rotation(30, fill=255)", kUnchanged};
  const OpenedDataset pairs(kPlugin, make_params(root, {{"transforms", transforms}}));
  std::set<std::vector<int64_t>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> image = pairs.floats(0, "image", seed);
    const std::vector<int64_t> mask = mask_of(pairs, 0, seed);
    REQUIRE(mask.size() == 400);
    for (size_t i = 0; i < mask.size(); ++i) {
      const auto level = static_cast<int64_t>(std::lround(image[i] * 255));
      CHECK(mask[i] == (level == 255 ? 255 : level / 100));
    }
    seen.insert(mask);
  }
  CHECK(seen.size() > 15);
}

TEST_CASE("a number that is not a class is refused with its pixel, unless it is ignored") {
  cv::Mat numbers = make_numbers(10, 8);
  numbers.at<uchar>(5, 2) = 7;
  numbers.at<uchar>(7, 9) = 255;
  const fs::path root = make_pair("beyond", numbers, encode(".png", numbers));
  const std::string mask = (root / "masks" / "street" / "1.png").string();
  CHECK(refusal(make_params(root))
            .find(mask + ": the pixel in column 2 of row 5 (from 0) is 7; expected a class from "
                         "0 to 2, or 255 to ignore it") == 0);
  CHECK(refusal(make_params(root, {{"ignore_index", int64_t{7}}})).find("row 7 (from 0) is 255") != std::string::npos);
  CHECK(refusal(make_params(root, {{"classes", int64_t{8}}})).empty());
}

TEST_CASE("a mask of another size, with colours or damaged is refused with its path") {
  const cv::Mat numbers = make_numbers(31, 17);
  const auto complaint = [&](const std::vector<uint8_t>& mask) {
    const fs::path root = make_pair("wrong_mask", numbers, mask);
    const std::string path = (root / "masks" / "street" / "1.png").string();
    const std::string text = refusal(make_params(root));
    CHECK(text.find(path + ": ") == 0);
    return text.substr(std::min(text.size(), path.size() + 2));
  };
  CHECK(complaint(encode(".png", make_numbers(30, 17))).find("has 30 x 17 pixels; expected 31 x 17") == 0);
  CHECK(complaint(encode(".png", make_image_of(numbers))).find("has 3 channels of 8 bits; expected a mask") == 0);
  CHECK(complaint(encode(".jpg", numbers)).find("is not a PNG; expected a mask") == 0);
  std::vector<uint8_t> cut = with_palette(encode(".png", numbers), {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}});
  cut.resize(cut.size() - 20);
  CHECK_FALSE(complaint(cut).empty());
}

TEST_CASE("a flipped bit in the header or the palette of a mask is refused, or changes no number") {
  const cv::Mat numbers = make_numbers(31, 17);
  const std::vector<uint8_t> whole = with_palette(encode(".png", numbers), {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}});
  const size_t header_end = 8 + 12 + 13, palette_end = header_end + 12 + 3 * 3;
  const fs::path root = make_pair("flipped_mask", numbers, whole);
  CHECK(mask_of(OpenedDataset(kPlugin, make_params(root)), 0) == to_vector(numbers));
  int refused = 0;
  for (size_t bit = 8 * 8; bit < 8 * palette_end; ++bit) {
    std::vector<uint8_t> mask = whole;
    mask[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    write_file(root / "masks" / "street" / "1.png", mask);
    CAPTURE(bit);
    // The bit may turn the palette into a chunk that decoders ignore.
    const std::string text = refusal(make_params(root));
    const bool is_refused = text.find((root / "masks" / "street" / "1.png").string() + ": ") == 0;
    CHECK((is_refused || mask_of(OpenedDataset(kPlugin, make_params(root)), 0) == to_vector(numbers)));
    refused += is_refused;
  }
  CHECK(refused > 350);  // of 368
}

TEST_CASE("an image without a mask, and a mask without an image, are refused by name") {
  const cv::Mat numbers = make_numbers(9, 9);
  const fs::path root = make_pair("lone", numbers, encode(".png", numbers));
  write_file(root / "images" / "2.jpg", encode(".jpg", make_image_of(numbers)));
  CHECK(refusal(make_params(root))
            .find((root / "images" / "2.jpg").string() + ": has no mask; expected " +
                  (root / "masks" / "2.png").string()) == 0);
  fs::rename(root / "images" / "2.jpg", root / "masks" / "2.jpg");
  CHECK(refusal(make_params(root)).find((root / "masks" / "2.jpg").string() + ": has no image") == 0);
  fs::rename(root / "masks" / "2.jpg", root / "masks" / "street" / "1.jpg");
  CHECK(refusal(make_params(root)).find("only in its extension") != std::string::npos);
  CHECK(refusal(make_params(root / "absent")).find((root / "absent" / "images").string() + ": cannot be listed") == 0);
}

TEST_CASE("a manifest lists the pairs, with paths relative to its folder") {
  const cv::Mat numbers = make_numbers(9, 9);
  const fs::path root = make_pair("manifest", numbers, encode(".png", numbers));
  write_file(root / "images" / "2.jpg", encode(".jpg", make_image_of(numbers)));  // without a mask
  const auto write = [&](const std::string& text) { write_file(root / "list.csv", {text.begin(), text.end()}); };
  const ParamValues columns = {{"images", "photo"}, {"masks", "classes"}};
  write("classes,photo\nmasks/street/1.png,images/street/1.png\nmasks/street/1.png,images/2.jpg\n");
  const OpenedDataset pairs(kPlugin, make_params(root / "list.csv", columns));
  CHECK(pairs.size() == 2);
  CHECK(mask_of(pairs, 1) == to_vector(numbers));
  write(",classes,photo\n0,masks/street/1.png,images/street/1.png\n1,masks/street/1.png,images/2.jpg\n");
  CHECK(OpenedDataset(kPlugin, make_params(root / "list.csv", columns)).size() == 2);
  CHECK(std::any_of(OpenedDataset::log().begin(), OpenedDataset::log().end(), [](const std::string& line) {
    return line.find("as the index of pandas does; it is not read") != std::string::npos;
  }));
  CHECK(refusal(make_params(root / "list.csv")).find((root / "list.csv").string() + ":1: there is no column") == 0);
  write("classes,photo\n,images/2.jpg\n");
  CHECK(refusal(make_params(root / "list.csv", columns))
            .find((root / "list.csv").string() + ":2: column \"classes\" is empty") == 0);
  write("classes,photo\nmasks/street/1.png,images\\2.jpg\nmasks\\street\\1.png,images/2.jpg\n");
  const std::string backslashes = refusal(make_params(root / "list.csv", columns));
  for (const char* part : {"2 of its 4 files do not exist: ", "images\\2.jpg (", "masks\\street\\1.png (",
                           "the path has backslashes; expected / between folders"})
    CHECK_MESSAGE(backslashes.find(part) != std::string::npos, part);
}

TEST_CASE("segmentation splits a folder into two parts by the paths of the images") {
  const fs::path root = make_empty_folder("mask_parts");
  for (int i = 0; i < 30; ++i) {
    const cv::Mat numbers(4, 4, CV_8UC1, cv::Scalar(i % 3));
    write_file(root / "images" / (std::to_string(i) + ".png"), encode(".png", make_image_of(numbers)));
    write_file(root / "masks" / (std::to_string(i) + ".png"), encode(".png", numbers));
  }
  const OpenedDataset train(kPlugin, make_params(root, {{"split", "train"}}));
  const OpenedDataset validation(kPlugin, make_params(root, {{"split", "validation"}}));
  CHECK(train.size() + validation.size() == 30);
  CHECK(validation.size() >= 3);
  CHECK(refusal(make_params(root, {{"split", "validation"}, {"validation_fraction", 1e-9}}))
            .find("none of its samples falls into the split \"validation\"") != std::string::npos);
}

TEST_CASE("segmentation reads unlabelled images with the pixels of labelled ones, and no masks") {
  const cv::Mat numbers = make_numbers(20, 14);
  const fs::path root = make_pair("unlabelled", numbers, encode(".png", numbers));
  const OpenedDataset labelled(kPlugin, make_params(root));
  const OpenedDataset unlabelled(kPlugin, make_params(root, {{"unlabelled", Texts{(root / "images").string()}}}));
  REQUIRE(unlabelled.size() == 1);
  CHECK(labelled.sample_name(0) == "street/1.png");
  CHECK(unlabelled.sample_name(0) == "street/1.png");
  CHECK(unlabelled.describe_fields().size() == 1);
  CHECK(unlabelled.describe_classes().empty());
  CHECK(unlabelled.floats(0, "image") == labelled.floats(0, "image"));
}

namespace {

using Numbers = std::vector<int64_t>;

// A folder of pairs with vertical stripes of these numbers as masks.
fs::path make_stripes(const std::string& name, const Numbers& numbers, int pairs = 3) {
  const fs::path root = make_empty_folder(name);
  cv::Mat mask(4, 2 * static_cast<int>(numbers.size()), CV_8UC1);
  for (int x = 0; x < mask.cols; ++x)
    mask.col(x) = cv::Scalar(static_cast<double>(numbers[static_cast<size_t>(x / 2)]));
  for (int i = 0; i < pairs; ++i) {
    const std::string file = std::to_string(i) + ".png";
    write_file(root / "images" / file, encode(".png", cv::Mat(mask.size(), CV_8UC3, cv::Scalar::all(9))));
    write_file(root / "masks" / file, encode(".png", mask));
  }
  return root;
}

}  // namespace

TEST_CASE(
    "masks that hold other numbers than the classes are refused before any sample, with the parameter that maps them") {
  const auto complaint = [](const Numbers& numbers, int64_t classes, const ParamValues& more = {}) {
    const fs::path root = make_stripes("other_numbers", numbers);
    const ParamValues params = make_params(root, with_changes({{"classes", classes}}, more));
    const std::string text = error_of<Refused>([&] { OpenedDataset(kPlugin, params); });
    CHECK((text.empty() || text.find(root.string() + ": the 3 masks hold only ") == 0));
    return text.substr(std::min(text.size(), root.string().size() + 2));
  };
  CHECK(complaint({0, 255}, 2) ==
        "the 3 masks hold only 0 and 255, and ignore_index is 255, so all that is not ignored is of class 0; is 255 "
        "class 1? then set values = [0, 255]; or, if it is no class, set values = [0, 1]");
  CHECK(complaint({0, 255}, 2, {{"ignore_index", int64_t{100}}}).find("set values = [0, 255]") != std::string::npos);
  CHECK(complaint({0, 128, 255}, 3).find("in this order, set values = [0, 128, 255]") != std::string::npos);
  CHECK(complaint({1, 2, 3}, 3).find("set values = [1, 2, 3]") != std::string::npos);
  CHECK(complaint({1, 2, 3, 255}, 3).find("set values = [1, 2, 3]") != std::string::npos);
  CHECK(complaint({0, 1}, 2).empty());
  CHECK(complaint({0, 1, 255}, 2).empty());
  CHECK(complaint({0, 255}, 2, {{"values", Numbers{0, 1}}}).empty());
  CHECK(complaint({0, 255}, 2, {{"values", Numbers{0, 255}}}).empty());
}

TEST_CASE("values gives the number of each class, also the one that would be ignored") {
  const fs::path root = make_stripes("values", {0, 255, 128, 7});
  const OpenedDataset pairs(kPlugin,
                            make_params(root, {{"values", Numbers{255, 0, 128}}, {"ignore_index", int64_t{7}}}));
  CHECK(OpenedDataset::log().empty());
  const std::vector<int64_t> mask = mask_of(pairs, 0);
  CHECK(std::vector<int64_t>(mask.begin(), mask.begin() + 8) == Numbers{1, 1, 0, 0, 2, 2, 7, 7});
  CHECK(refusal(make_params(root, {{"values", Numbers{255, 0, 128}}}))
            .find("is 7; expected one of the parameter values, or 255 to ignore it") != std::string::npos);
  CHECK(
      refusal(make_params(root, {{"values", Numbers{0, 255}}})).find("has 2 numbers; expected one for each of the 3") !=
      std::string::npos);
  CHECK(refusal(make_params(root, {{"values", Numbers{0, 255, 0}}})).find("has 0 twice") != std::string::npos);
}

TEST_CASE("classes that no mask has are named once, before any sample") {
  const fs::path root = make_stripes("missing_classes", {0, 2, 255}, 40);
  OpenedDataset(kPlugin, make_params(root, {{"classes", int64_t{5}}}));
  CHECK(OpenedDataset::log() ==
        Texts{root.string() +
              ": the 40 masks hold only 0, 2 and 255, so no pixel is of class 1, 3 or 4; expected each of the 5 "
              "classes; correct the parameter classes, or set values to the number that stands for each"});
  // The only mask with a class may be any of them.
  for (const int last : {0, 1, 17, 39}) {
    const cv::Mat mask(4, 6, CV_8UC1, cv::Scalar(1));
    const fs::path file = root / "masks" / (std::to_string(last) + ".png");
    const fs::path kept = root / "kept.png";
    fs::copy_file(file, kept, fs::copy_options::overwrite_existing);
    write_file(file, encode(".png", mask));
    OpenedDataset(kPlugin, make_params(root));
    CHECK(OpenedDataset::log().empty());
    fs::copy_file(kept, file, fs::copy_options::overwrite_existing);
  }
}

TEST_CASE("files that are no images are skipped with one count, and linked folders are followed") {
  const fs::path root = make_stripes("with_others", {0, 1, 2});
  for (const char* other : {"images/Thumbs.db", "images/0.json", "images/.DS_Store", "images/._0.png",
                            "masks/Thumbs.db", "masks/desktop.ini", "README.txt"})
    write_file(root / other, {1});
  fs::create_directories(root / "more");
  fs::rename(root / "images" / "2.png", root / "more" / "x.png");
  fs::create_directories(root / "more_masks");
  fs::rename(root / "masks" / "2.png", root / "more_masks" / "x.png");
  fs::create_directory_symlink("../more", root / "images" / "linked");
  fs::create_directory_symlink(root / "more_masks", root / "masks" / "linked");
  const OpenedDataset pairs(kPlugin, make_params(root));
  CHECK(pairs.size() == 3);
  CHECK(pairs.sample_name(2) == "linked/x.png");
  CHECK(OpenedDataset::log() ==
        Texts{root.string() + ": 4 files were skipped, the first is images/0.json; expected the extension of an image, "
                              "such as .jpg or .png; convert images of other formats, or remove the files"});
}

TEST_CASE(
    "an image that EXIF turns and a mask that it does not are reported once, and errors of sizes name the "
    "orientation") {
  const auto make = [](const std::string& name, cv::Size size, int orientation, int mask_orientation) {
    const fs::path root = make_stripes(name, {0, 1, 2}, 5);
    cv::Mat mask(size, CV_8UC1);
    for (int x = 0; x < mask.cols; ++x) mask.col(x) = cv::Scalar(x % 3);
    for (int i = 0; i < 5; ++i) {
      fs::remove(root / "images" / (std::to_string(i) + ".png"));
      write_file(root / "images" / (std::to_string(i) + ".jpg"),
                 with_jpeg_orientation(encode(".jpg", make_gradient(size.width, size.height)),
                                       static_cast<uint8_t>(i == 4 ? 1 : orientation)));
      write_file(root / "masks" / (std::to_string(i) + ".png"),
                 with_png_orientation(encode(".png", mask), static_cast<uint8_t>(i == 4 ? 1 : mask_orientation)));
    }
    return root;
  };
  for (const int orientation : {2, 3, 4, 5, 6, 7, 8}) {
    CAPTURE(orientation);
    const fs::path root = make("turned", {12, 12}, orientation, 1);
    const OpenedDataset pairs(kPlugin, make_params(root));
    const Texts before = OpenedDataset::log();
    REQUIRE(before.size() == 1);
    CHECK(before[0].find("turned upright by the EXIF orientation, unlike the mask: 4 of 5 examined images (") == 0);
    CHECK(before[0].find("0.jpg (orientation " + std::to_string(orientation) + ")") != std::string::npos);
    for (int64_t i = 0; i < 5; ++i) pairs.get(i);
    CHECK(OpenedDataset::log() == before);
  }
  OpenedDataset(kPlugin, make_params(make("both_turned", {12, 12}, 3, 3)));
  CHECK(OpenedDataset::log().empty());
  const fs::path oblong = make("oblong", {18, 12}, 6, 1);
  for (const char* cache : {"none", "memory"})
    CHECK(
        refusal(make_params(oblong, {{"cache", cache}, {"scaled_decoding", false}}))
            .find(
                "has 18 x 12 pixels; expected 12 x 18, as " + (oblong / "images" / "0.jpg").string() +
                " has after it was turned upright by its EXIF orientation 6; if the mask fits the pixels as stored") !=
        std::string::npos);
}

TEST_CASE("masks in black and white with a stray pixel of class 1 are reported") {
  cv::Mat numbers(100, 100, CV_8UC1, cv::Scalar(0));
  numbers(cv::Rect(0, 0, 100, 50)).setTo(255);
  const auto log_of = [&](const std::string& name) {
    const fs::path root = make_pair(name, numbers, encode(".png", numbers));
    OpenedDataset(kPlugin, make_params(root, {{"classes", int64_t{2}}}));
    return OpenedDataset::log();
  };
  numbers.at<uchar>(99, 99) = 1;
  REQUIRE(log_of("stray").size() == 1);
  CHECK(OpenedDataset::log()[0].find(
            "have 5000 pixels of 255, which is ignore_index, and 1 of class 1; is 255 class 1? "
            "then correct the pixels that are 1, and set values = [0, 255]") != std::string::npos);
  numbers(cv::Rect(0, 90, 10, 10)).setTo(1);
  CHECK(log_of("rare").empty());
}

TEST_CASE("the fingerprint depends on the contents of the masks") {
  cv::Mat numbers = make_numbers(12, 12);
  const fs::path root = make_pair("fingerprint", numbers, encode(".png", numbers));
  const uint64_t before = OpenedDataset(kPlugin, make_params(root)).fingerprint();
  CHECK(OpenedDataset(kPlugin, make_params(root)).fingerprint() == before);
  const fs::path mask = root / "masks" / "street" / "1.png";
  const uintmax_t size = fs::file_size(mask);
  for (uchar& number : cv::Mat_<uchar>(numbers)) number = static_cast<uchar>(2 - number);
  std::vector<uint8_t> changed = encode(".png", numbers);
  CHECK(changed.size() <= size + 8);
  changed.resize(size);
  write_file(mask, changed);
  CHECK(OpenedDataset(kPlugin, make_params(root)).fingerprint() != before);
}

}  // namespace segmentation_test
