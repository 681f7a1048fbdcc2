// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/datasets/written_tar.h"
#include "tests/test_folder.h"

namespace tar_shards_test {

namespace fs = std::filesystem;

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/tar_shards.so";

using Texts = std::vector<std::string>;

ParamValues make_params(const fs::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()}, {"max_pixels", int64_t{1000}}}, changes);
}

TarBytes make_png(int level, int width = 2, int height = 2) {
  return encode(".png", cv::Mat(height, width, CV_8UC3, cv::Scalar::all(level)));
}

fs::path write_shard(const std::string& folder, const WrittenTar& tar, const std::string& name = "a.tar") {
  const fs::path file = tenon::test_folder() / folder / name;
  write_file(file, tar.bytes());
  return file;
}

// Returns the error message for a shard, without its path.
std::string complaint(const WrittenTar& tar, const ParamValues& changes = {}) {
  const fs::path file = write_shard("refused_shard", tar);
  const std::string text = error_of<Refused>([&] { OpenedDataset(kPlugin, make_params(file, changes)); });
  return text.find(file.string() + ": ") == 0 ? text.substr(file.string().size() + 2) : text;
}

void check_complaint(const WrittenTar& tar, const std::string& expected, const ParamValues& changes = {}) {
  const std::string text = complaint(tar, changes);
  CAPTURE(text);
  CHECK(text.find(expected) != std::string::npos);
}

}  // namespace

TEST_CASE("members that share a name up to its first dot are one sample, in all shards") {
  make_empty_folder("samples");
  write_shard("samples",
              WrittenTar()
                  .add("README", "no extension")
                  .add("x/000.jpg.txt", "a file that is no field")
                  .add("x/000.PNG", make_png(10))
                  .add("x/000.cls", " 7\n")
                  .add("__meta__.json", "{}")
                  .add("x/001.cls", "-8")
                  .add("x/001.png", make_png(20)),
              "0.tar");
  const fs::path second =
      write_shard("samples", WrittenTar().add("x/000.png", make_png(30)).add("x/000.cls", "9"), "1.tar");
  const OpenedDataset data(kPlugin, make_params(second.parent_path()));
  CHECK(data.describe_fields() == Texts{"image uint8 -1,-1,3", "label int64"});
  REQUIRE(data.size() == 3);
  CHECK(data.bytes(0, "image") == std::vector<uint8_t>(12, 10));
  CHECK(data.bytes(1, "image") == std::vector<uint8_t>(12, 20));
  CHECK(data.bytes(2, "image") == std::vector<uint8_t>(12, 30));
  CHECK(data.integer(0, "label") == 7);
  CHECK(data.integer(1, "label") == -8);
  CHECK(data.integer(2, "label") == 9);
  const OpenedDataset first(kPlugin, make_params(second.parent_path() / "{0,1}.tar", {{"fields", Texts{"n=cls"}}}));
  CHECK(first.describe_fields() == Texts{"n int64"});
  CHECK(first.size() == 3);
}

TEST_CASE("images that EXIF turns, and transforms that move them, are reported if something belongs to their pixels") {
  const TarBytes turned = with_jpeg_orientation(encode(".jpg", make_gradient(6, 6)), 6);
  WrittenTar tar;
  for (const char* name : {"0", "1"}) {
    const std::string sample = name;
    tar.add(sample + ".a.jpg", turned).add(sample + ".b.png", make_png(10, 6, 6)).add(sample + ".cls", "1");
    tar.add(sample + ".mask.npy", make_npy("|u1", "(6, 6)", TarBytes(36)));
    tar.add(sample + ".json", R"({"x1": 3})");
  }
  const fs::path file = write_shard("turned", tar);
  const auto log_of = [&](const Texts& fields, const Texts& transforms = {}) {
    const OpenedDataset data(kPlugin, make_params(file, {{"fields", fields}, {"transforms", transforms}}));
    const Texts lines = OpenedDataset::log();
    for (int64_t i = 0; i < data.size(); ++i) data.get(i);
    CHECK(OpenedDataset::log() == lines);
    return lines;
  };
  CHECK(log_of({"a.jpg", "cls"}, {"horizontal_flip()"}).empty());
  const Texts pair = log_of({"a.jpg", "b.png", "cls"});
  REQUIRE(pair.size() == 1);
  CHECK(pair[0].find("turned upright by the EXIF orientation, unlike the other image of the sample: 2 of 4 examined "
                     "images (") == 0);
  const Texts mask = log_of({"a.jpg", "mask.npy"});
  REQUIRE(mask.size() == 1);
  CHECK(mask[0].find("unlike the field \"mask\": 2 of 2 examined images") != std::string::npos);
  CHECK(log_of({"a.jpg", "x1=json:x1"}).size() == 1);
  const Texts moved = log_of({"b.png", "mask.npy"}, {"resize((4, 4))", "horizontal_flip()"});
  REQUIRE(moved.size() == 1);
  CHECK(moved[0].find("the transforms move the pixels of the image, but not the field \"mask\": resize, "
                      "horizontal_flip; expected transforms that keep each pixel in its place") == 0);
}

TEST_CASE("transparent pixels in shards are reported before the first sample") {
  const cv::Mat pixels(4, 4, CV_8UC4, cv::Scalar(0, 0, 0, 0));
  const fs::path file = write_shard("transparent", WrittenTar().add("0.png", encode(".png", pixels)));
  const OpenedDataset data(kPlugin, make_params(file));
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find("transparent pixels in 1 of 1 examined images") == 0);
}

TEST_CASE("the fingerprint depends on labels and arrays") {
  const auto fingerprint = [](const std::string& label, uint8_t element) {
    const WrittenTar tar = WrittenTar().add("0.cls", label).add("0.npy", make_npy("|u1", "(1,)", {element}));
    return OpenedDataset(kPlugin, make_params(write_shard("fingerprint", tar))).fingerprint();
  };
  CHECK(fingerprint("1", 0) == fingerprint("1", 0));
  CHECK(fingerprint("1", 0) != fingerprint("0", 0));
  CHECK(fingerprint("1", 0) != fingerprint("1", 1));
}

TEST_CASE("shards name the classes of their fields, and the parameter classes those of labels") {
  const auto classes_of = [](const fs::path& path, const ParamValues& changes = {}) {
    return OpenedDataset(kPlugin, make_params(path, changes)).describe_classes();
  };
  const std::string names = R"({"label": ["cat", "dog"], "mask": ["sky", "road"], "other": ["a"]})";
  const fs::path file = write_shard("named", WrittenTar()
                                                 .add("__class_names__", names)
                                                 .add("0.label.cls", "1")
                                                 .add("0.mask.npy", make_npy("<i8", "()", TarBytes(8)))
                                                 .add("0.value.npy", make_npy("<f4", "()", TarBytes(4))));
  CHECK(classes_of(file) == Texts{"label: cat, dog", "mask: sky, road"});
  CHECK(classes_of(file, {{"fields", Texts{"y=label.cls"}}}) == Texts{"y: cat, dog"});
  const fs::path words = write_shard("words", WrittenTar().add("0.cls", "dog"));
  CHECK(classes_of(words, {{"classes", Texts{"dog", "cat"}}}) == Texts{"label: dog, cat"});
  CHECK(classes_of(write_shard("numbers", WrittenTar().add("0.cls", "1"))).empty());
}

TEST_CASE("shards that name other classes, and damaged names, are refused") {
  make_empty_folder("mixed");
  const auto shard = [](const std::string& name, const std::string& names) {
    return write_shard("mixed", WrittenTar().add("__class_names__", names).add("0.cls", "1"), name);
  };
  shard("0.tar", R"({"label": ["cat", "dog"]})");
  const fs::path folder = shard("1.tar", R"({"label": ["dog", "cat"]})").parent_path();
  const std::string text = error_of<Refused>([&] { OpenedDataset(kPlugin, make_params(folder)); });
  CAPTURE(text);
  CHECK(text == (folder / "1.tar").string() + ": member \"__class_names__\" at byte 512: names other classes than " +
                    (folder / "0.tar").string() +
                    ": member \"__class_names__\" at byte 512; expected shards of one dataset: pack them together, or "
                    "read them as separate datasets");
  for (const char* names : {"", "[]", R"({"label": "cat"})", R"({"label": [3]})"})
    check_complaint(WrittenTar().add("__class_names__", names).add("0.cls", "1"),
                    "; expected a JSON object with a list of names for each field");
}

TEST_CASE("images are transformed, and all images of a sample alike") {
  const fs::path file = write_shard("transformed", WrittenTar()
                                                       .add("0.left.png", encode(".png", make_gradient(16, 16)))
                                                       .add("0.right.png", encode(".png", make_gradient(16, 16))));
  const ParamValues changes = {{"transforms", Texts{"random_crop(4)", "normalize(mean=0, std=1)"}}};
  const OpenedDataset data(kPlugin, make_params(file, changes));
  CHECK(data.describe_fields() == Texts{"left float32 3,4,4", "right float32 3,4,4"});
  CHECK(data.floats(0, "left", 5) == data.floats(0, "right", 5));
  CHECK(data.floats(0, "left", 5) != data.floats(0, "left", 6));
}

TEST_CASE("arrays keep their dtype and shape, and an extent may vary") {
  const fs::path file = write_shard("arrays", WrittenTar()
                                                  .add("0.x.npy", make_npy("<f4", "(2, 1)", bytes_of<float>({1, 2})))
                                                  .add("0.npy", make_npy("<i8", "()", bytes_of<int64_t>({5})))
                                                  .add("0.mask.npy", make_npy("|u1", "(3,)", {1, 2, 3}))
                                                  .add("1.x.npy", make_npy("<f4", "(2, 1)", bytes_of<float>({3, 4})))
                                                  .add("1.npy", make_npy("<i8", "()", bytes_of<int64_t>({6})))
                                                  .add("1.mask.npy", make_npy("|u1", "(0,)", {})));
  const OpenedDataset data(kPlugin, make_params(file));
  CHECK(data.describe_fields() == Texts{"x float32 2,1", "array int64", "mask uint8 -1"});
  CHECK(data.floats(1, "x") == std::vector<float>{3, 4});
  CHECK(data.integer(1, "array") == 6);
  CHECK(data.bytes(0, "mask") == std::vector<uint8_t>{1, 2, 3});
  CHECK(data.bytes(1, "mask").empty());
}

TEST_CASE("labels can come from JSON and from class names") {
  const fs::path file = write_shard("labels", WrittenTar()
                                                  .add("0.json", R"({"id": 3, "kind": "cup", "more": [1]})")
                                                  .add("0.cls", "cup\n")
                                                  .add("1.json", R"({"kind": "can", "id": -4})")
                                                  .add("1.cls", "can"));
  const OpenedDataset numbers(kPlugin, make_params(file, {{"fields", Texts{"json:id"}}}));
  CHECK(numbers.describe_fields() == Texts{"id int64"});
  CHECK(numbers.integer(1, "id") == -4);
  const OpenedDataset names(
      kPlugin, make_params(file, {{"fields", Texts{"label=json:kind", "cls=cls"}}, {"classes", Texts{"can", "cup"}}}));
  CHECK(names.integer(0, "label") == 1);
  CHECK(names.integer(1, "label") == 0);
  CHECK(names.integer(0, "cls") == 1);
}

TEST_CASE("an alternative extension is used if a sample has it") {
  const fs::path file = write_shard(
      "alternatives", WrittenTar().add("0.png", make_png(10)).add("1.bmp", encode(".bmp", cv::Mat(1, 1, CV_8UC3))));
  const OpenedDataset data(kPlugin, make_params(file, {{"fields", Texts{"image=png;bmp"}}}));
  CHECK(data.bytes(0, "image").size() == 12);
  CHECK(data.bytes(1, "image").size() == 3);
}

TEST_CASE("samples that are incomplete or contradict each other are refused with shard, member and byte") {
  const TarBytes png = make_png(1);
  check_complaint(WrittenTar().add("0.png", png).add("0.cls", "1").add("1.cls", "1"),
                  "the sample \"1\" at byte 2048 has .cls; expected a .png for the field \"image\"");
  check_complaint(WrittenTar().add("0.cls", "1").add("0.cls", "2"),
                  "member \"0.cls\" at byte 1536: the sample \"0\" has the field \"label\" twice");
  check_complaint(
      WrittenTar().add("1.cls", "1").add("0.cls", "2").add("1.cls", "3"),
      "the sample \"1\" begins at byte 0 and again at byte 2048; expected the members of a sample next to each other");
  check_complaint(WrittenTar().add("0.cls", "one"), "member \"0.cls\" at byte 512: holds \"one\"; expected a whole");
  check_complaint(WrittenTar().add("0.cls", "one"), "\"one\" is none of the 2 classes",
                  {{"classes", Texts{"two", "three"}}});
  check_complaint(WrittenTar().add("0.cls", std::string(5000, '1')), "has 5000 bytes; expected 4096 at most");
  check_complaint(WrittenTar().add("0.json", "{\"id\": 1.5}"), "its \"id\" is a value of type number",
                  {{"fields", Texts{"json:id"}}});
  check_complaint(WrittenTar().add("0.json", "[]"), "is not a JSON object", {{"fields", Texts{"json:id"}}});
  check_complaint(WrittenTar().add("0.json", "{}"), "has no key \"id\"", {{"fields", Texts{"json:id"}}});
  check_complaint(WrittenTar().add("0.npy", "text"), "member \"0.npy\" at byte 512: does not begin like a .npy file");
  check_complaint(WrittenTar().add("0.npy", make_npy("<f4", "(2,)", {1, 2})), "which does not match its shape");
  TarBytes later = make_npy("|u1", "(1,)", {1});
  later[6] = 4;
  check_complaint(WrittenTar().add("0.npy", later),
                  "at byte 512: has version 4.0 of the .npy format; expected 1.0, 2.0");
  check_complaint(WrittenTar().add("0.npy", make_npy("|u1", "(1,)", {1})).add("1.npy", make_npy("|i1", "(1,)", {1})),
                  "holds int8 with 1 dimension; expected uint8 with 1 dimension, as in the samples before");
  check_complaint(WrittenTar().add("0.txt", "words"), "its first sample has .txt; expected an image, .npy or .cls");
  check_complaint(WrittenTar().add("README", "words"), "holds no sample");
  check_complaint(WrittenTar().add("0.png", png).add("0.jpg", png), "it would be named \"image\", like another field");
}

TEST_CASE("members are refused that the host would refuse as fields") {
  const std::string advice = "; list some of them in the parameter \"fields\"";
  WrittenTar many;
  for (int i = 0; i < 65; ++i) many.add("0.x" + std::to_string(i) + ".cls", "1");
  CHECK(complaint(many) == "has 65 kinds of members that become fields; expected at most 64" + advice);
  CHECK(complaint(many, {{"fields", Texts{"x0.cls", "x64.cls"}}}).empty());
  CHECK(complaint(WrittenTar().add("0..cls", "1").add("0.a.cls", "1")) ==
        "one of the kinds of members that become fields has no name" + advice);
  std::string shape;
  for (int i = 0; i < 65; ++i) shape += "1,";
  check_complaint(WrittenTar().add("0.npy", make_npy("|u1", '(' + shape + ')', {1})),
                  "has 65 dimensions; expected at most 64");
}

TEST_CASE("invalid entries of fields are refused") {
  const WrittenTar tar = WrittenTar().add("0.cls", "1");
  for (const std::string wrong : {"=jpg", "txt", "json", "json:", "a=", "jpg;npy", "cls:key", "a=jpg;"}) {
    check_complaint(tar, "parameter \"fields\" has \"" + wrong + "\": ", {{"fields", Texts{wrong}}});
  }
  check_complaint(tar, "it would be named \"label\"", {{"fields", Texts{"cls", "label=json:x"}}});
  check_complaint(tar, "\"a\" twice", {{"classes", Texts{"a", "a"}}});
}

TEST_CASE("an undecodable image is reported with shard, member and byte") {
  const fs::path file = write_shard("damaged_image", WrittenTar().add("0.cls", "1").add("0.png", "no image"));
  const OpenedDataset data(kPlugin, make_params(file));
  const std::string text = error_of<Refused>([&] { data.get(0); });
  CHECK(text.find(file.string() + ": member \"0.png\" at byte 1536: ") == 0);
}

TEST_CASE("a shard that is truncated while in use is reported, and so is a missing one") {
  const fs::path file = write_shard("shortened", WrittenTar().add("0.png", make_png(1)));
  const OpenedDataset data(kPlugin, make_params(file));
  fs::resize_file(file, 520);
  const std::string text = error_of<Refused>([&] { data.get(0); });
  CAPTURE(text);
  CHECK(text.find("a.tar: ends at byte 520; expected ") != std::string::npos);
  const fs::path absent = file.parent_path() / "b{0..1}.tar";
  CHECK(error_of<Refused>([&] { OpenedDataset(kPlugin, make_params(absent)); }).find("b0.tar: cannot be read: ") !=
        std::string::npos);
}

TEST_CASE("names of samples with further dots are named") {
  const auto dotted = [](const std::vector<std::string>& keys) {
    WrittenTar tar;
    for (const std::string& key : keys) tar.add(key + ".png", make_png(1)).add(key + ".cls", "1");
    return complaint(tar);
  };
  CHECK(dotted({"photo.001", "photo.002"})
            .find("all its members are of one sample, \"photo\"; the name of a sample ends at its first dot, so "
                  "\"photo.001.png\" is the member .001.png of \"photo\"") != std::string::npos);
  CHECK(dotted({"2024.07", "2025.08"}).find("the name of a sample ends at its first dot") != std::string::npos);
}

}  // namespace tar_shards_test
