// Tests the built plugins image_csv and pairs through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <opencv2/imgcodecs.hpp>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace image_csv_test {

namespace fs = std::filesystem;

namespace {

const std::string kImageCsv = TENON_BINARY_DIR "/plugins/image_csv.so";
const std::string kPairs = TENON_BINARY_DIR "/plugins/pairs.so";

using Texts = std::vector<std::string>;

const std::string kUnchanged = "normalize(mean=0, std=1)";

ParamValues make_params(const fs::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()},
                       {"image", "path"},
                       {"first", "first"},
                       {"second", "second"},
                       {"labels", Texts{"label"}},
                       {"transforms", Texts{"center_crop(4)", kUnchanged}}},
                      changes);
}

// Writes grey images img/1.png to img/9.png with ten times their number as the level, and a table next to that folder.
fs::path make_table(const std::string& name, const std::string& text) {
  const fs::path root = make_empty_folder(name);
  for (int i = 1; i <= 9; ++i) {
    write_file(root / "img" / (std::to_string(i) + ".png"),
               encode(".png", cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(10 * i))));
  }
  write_file(root / "t.csv", {text.begin(), text.end()});
  return root / "t.csv";
}

std::string refusal(const std::string& plugin, const ParamValues& params) {
  return error_of<Refused>([&] { OpenedDataset(plugin, params).get(0); });
}

bool is_level(const std::vector<float>& image, int level) {
  return image.size() == 48 && std::all_of(image.begin(), image.end(),
                                           [&](float v) { return v * 255 > level - 0.1f && v * 255 < level + 0.1f; });
}

}  // namespace

TEST_CASE("image_csv gives the image of each row, and numbers classes by first appearance") {
  const fs::path table = make_table("rows", "label,path\ncat,img/3.png\nant,img/1.png\ncat,img/2.png\n");
  const OpenedDataset images(kImageCsv, make_params(table));
  CHECK(images.describe_fields() == Texts{"image float32 3,4,4", "label int64"});
  CHECK(images.describe_classes() == Texts{"label: cat, ant"});
  REQUIRE(images.size() == 3);
  const int levels[] = {30, 10, 20};
  const int64_t labels[] = {0, 1, 0};
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(is_level(images.floats(i, "image"), levels[i]));
    CHECK(images.integer(i, "label") == labels[i]);
  }
}

// OpenCV's setting of its threads is not safe to change on several threads.
TEST_CASE("workers are opened on several threads at the same time") {
  const OpenedDataset images(kImageCsv, make_params(make_table("workers", "label,path\ncat,img/3.png\n")));
  images.open_workers(8, 2000);
  CHECK(images.size() == 1);
}

TEST_CASE("listed classes are numbered by their index in the list") {
  const fs::path table = make_table("given", "label,path\ncat,img/3.png\nant,img/1.png\n");
  const OpenedDataset images(kImageCsv, make_params(table, {{"classes", Texts{"ant", "bee", "cat"}}}));
  CHECK(images.describe_classes() == Texts{"label: ant, bee, cat"});
  CHECK(images.integer(0, "label") == 2);
  CHECK(images.integer(1, "label") == 0);
  CHECK(refusal(kImageCsv, make_params(table, {{"classes", Texts{"cat", "bee"}}})) ==
        table.string() + ":3: column \"label\": \"ant\" is none of the 2 classes that the parameter \"classes\" lists");
  CHECK(refusal(kImageCsv, make_params(table, {{"classes", Texts{"cat", "ant", "cat"}}})).find("\"cat\" twice") !=
        std::string::npos);
}

TEST_CASE("several columns become labels and targets of one sample") {
  const fs::path table =
      make_table("several", "file;colour;kind;x;y\nimg/1.png;red;cup;1.5;-2\nimg/2.png;blue;cup;0;4e1\n");
  const OpenedDataset images(kImageCsv, make_params(table, {{"separator", "semicolon"},
                                                            {"image", "file"},
                                                            {"labels", Texts{"kind", "colour"}},
                                                            {"targets", Texts{"y", "x"}}}));
  CHECK(images.describe_fields() == Texts{"image float32 3,4,4", "kind int64", "colour int64", "targets float32 2"});
  CHECK(images.floats(0, "targets") == std::vector<float>{-2, 1.5});
  CHECK(images.floats(1, "targets") == std::vector<float>{40, 0});
  CHECK(images.integer(1, "kind") == 0);
  CHECK(images.integer(1, "colour") == 1);
}

TEST_CASE("a table may have only regression targets") {
  const fs::path table = make_table("regression", "path,x\n1.png,3\n");
  const OpenedDataset images(kImageCsv,
                             make_params(table, {{"root", "img"}, {"labels", Texts{}}, {"targets", Texts{"x"}}}));
  CHECK(images.describe_classes().empty());
  CHECK(images.describe_fields() == Texts{"image float32 3,4,4", "targets float32 1"});
  CHECK(is_level(images.floats(0, "image"), 10));
}

TEST_CASE("errors in a table are refused with file, line and column") {
  const fs::path table = make_table("wrong_table", "path,label,x\nimg/1.png,,1\n,cat,one\n");
  const std::string file = table.string();
  CHECK(refusal(kImageCsv, make_params(table)).find(file + ":2: column \"label\" is empty") == 0);
  const ParamValues numbers = {{"labels", Texts{}}, {"targets", Texts{"x"}}};
  CHECK(refusal(kImageCsv, make_params(table, numbers)).find(file + ":3: column \"x\": \"one\" is not a finite") == 0);
  CHECK(refusal(kImageCsv, make_params(table, {{"labels", Texts{"x"}}})).find(file + ":3: column \"path\" is empty") ==
        0);
  CHECK(refusal(kImageCsv, make_params(table, {{"labels", Texts{"class"}}})).find(file + ":1: there is no column") ==
        0);
}

TEST_CASE("columns that cannot become fields are refused") {
  const fs::path table = make_table("fields", "path,image,targets,x\nimg/1.png,a,b,1\n");
  const auto with = [&](const Texts& labels, const Texts& targets, const Texts& classes = {}) {
    return refusal(kImageCsv, make_params(table, {{"labels", labels}, {"targets", targets}, {"classes", classes}}));
  };
  CHECK(with({"image"}, {}).find("names the column \"image\"; another field has that name") != std::string::npos);
  CHECK(with({"targets"}, {"x"}).find("another field has that name") != std::string::npos);
  CHECK(with({"targets"}, {}).empty());
  CHECK(with({"x", "x"}, {}).find("another field has that name") != std::string::npos);
  CHECK(with({}, {}).find("are both empty") != std::string::npos);
  CHECK(with({"x", "targets"}, {}, {"1"}).find("names 2 columns; expected one") != std::string::npos);
}

TEST_CASE("an unreadable image is reported with its path and row") {
  const fs::path table = make_table("lost", "path,label\n\"img/0.png\",a\n");
  const std::string text = refusal(kImageCsv, make_params(table));
  CHECK(text == table.string() + ": 1 of its 1 files does not exist: " + (table.parent_path() / "img/0.png").string() +
                    " (" + table.string() +
                    ":2: column \"path\"); correct the list, or set missing_files = \"warn\" to use the other files");
  const OpenedDataset warned(kImageCsv, make_params(table, {{"missing_files", "warn"}}));
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find("1 of its 1 files does not exist") != std::string::npos);
  const std::string later = error_of<Refused>([&] { warned.get(0); });
  CHECK(later.find((table.parent_path() / "img/0.png").string() + ": cannot be read") == 0);
  CHECK(later.find("(" + table.string() + ":2: column \"path\")") != std::string::npos);
}

TEST_CASE("missing files of a list are counted when it is opened, and what may be wrong with a path is named") {
  std::string text = "path,label\nimg/1.png,a\n";
  for (int i = 10; i < 15; ++i) text += "img/" + std::to_string(i) + ".png,a\n";
  const std::string many = refusal(kImageCsv, make_params(make_table("missing", text)));
  CHECK(many.find(": 5 of its 6 files do not exist: ") != std::string::npos);
  CHECK(many.find("img/12.png (") != std::string::npos);
  CHECK(many.find("img/13.png") == std::string::npos);
  const auto hint = [&](const std::string& path) {
    const fs::path table = make_table("hints", "path,label\n" + path + ",a\n");
    write_file(table.parent_path() / "img" / "cafe\xCC\x81.png", {1});  // e and a combining acute
    return refusal(kImageCsv, make_params(table));
  };
  CHECK(hint("img\\1.png").find("the path has backslashes; expected / between folders") != std::string::npos);
  CHECK(hint("img/1.png ").find("the path ends with a blank") != std::string::npos);
  CHECK(hint("img/caf\xC3\xA9.png").find("another Unicode form (NFC or NFD)") != std::string::npos);
  CHECK(hint("img/0.png").find("; correct the list") != std::string::npos);
  const fs::path pairs =
      make_table("missing_pairs", "first,second,label\nimg/1.png,img/2.png,a\nimg/3.png,img/0.png,a\n");
  CHECK(refusal(kPairs, make_params(pairs)).find(": 1 of its 4 files does not exist") != std::string::npos);
}

TEST_CASE("classes that are numbers are numbered by value, in any order of the rows") {
  for (const char* rows : {"img/1.png,10\nimg/2.png,2\nimg/3.png,-1\n", "img/3.png,-1\nimg/1.png,10\nimg/2.png,2\n"}) {
    const OpenedDataset images(kImageCsv, make_params(make_table("numbers", std::string("path,label\n") + rows)));
    CHECK(images.describe_classes() == Texts{"label: -1, 2, 10"});
    for (int64_t i = 0; i < 3; ++i)
      CHECK(images.integer(i, "label") == 3 - static_cast<int64_t>(std::lround(images.floats(i, "image")[0] * 25.5)));
    REQUIRE(!OpenedDataset::log().empty());
    CHECK(OpenedDataset::log()[0].find("in the order of their values: -1, 2, 10; the order as text, as of "
                                       "torchvision's ImageFolder, is -1, 10, 2") != std::string::npos);
  }
  const OpenedDataset floats(kImageCsv,
                             make_params(make_table("floats", "path,label\nimg/1.png,10.0\nimg/2.png,2.0\n")));
  CHECK(floats.describe_classes() == Texts{"label: 2.0, 10.0"});
  const fs::path table = make_table("written_otherwise", "path,label\nimg/1.png,1.0\n");
  CHECK(refusal(kImageCsv, make_params(table, {{"classes", Texts{"0", "1"}}}))
            .ends_with("; \"1\" has the same value: write it the same way"));
}

TEST_CASE("missing labels and classes of equal value are refused") {
  const auto refused = [](const std::string& first, const std::string& second) {
    return refusal(kImageCsv, make_params(make_table(
                                  "unlike", "path,label\nimg/1.png," + first + "\nimg/2.png," + second + "\n")));
  };
  CHECK(refused("cat", "NaN").find(":3: column \"label\" is a missing value, NaN") != std::string::npos);
  CHECK(refused("2", "2.0").find("\"2\" (line 2) and \"2.0\" (line 3) are the same value") != std::string::npos);
  CHECK(refused("TRUE", "True").find("are the same value") != std::string::npos);
  CHECK(refused("cat", "Cat").empty());
}

TEST_CASE("blanks around class names and other Unicode forms do not make classes, and are reported once") {
  const fs::path table =
      make_table("blanks",
                 "path, label\nimg/1.png, cat\nimg/2.png,cat \nimg/3.png,cat\nimg/4.png,caf\xC3\xA9\n"
                 "img/5.png,cafe\xCC\x81\nimg/6.png,\xC2\xA0"
                 "dog\n");
  const OpenedDataset images(kImageCsv, make_params(table));
  CHECK(images.describe_classes() == Texts{"label: cat, caf\xC3\xA9, dog"});
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find("4 names have blanks around them") != std::string::npos);
  CHECK(OpenedDataset::log()[0].find("\" cat\", \"cat \"") != std::string::npos);
  const fs::path blank = make_table("blank_class", "path,label\nimg/1.png, \n");
  CHECK(refusal(kImageCsv, make_params(blank)).find(":2: column \"label\" is empty") != std::string::npos);
  const fs::path latin = make_table("latin", "path,label\nimg/1.png,\xE9\n");
  CHECK(refusal(kImageCsv, make_params(latin)).find("is not UTF-8 at byte 0; convert the file") != std::string::npos);
}

TEST_CASE("cells with several classes are multi-hot targets, or refused") {
  const fs::path table =
      make_table("tags", "path,label\nimg/1.png,cat|odd\nimg/2.png,cat\nimg/3.png,\nimg/4.png, odd | cat \n");
  CHECK(refusal(kImageCsv, make_params(table))
            .find("\"cat|odd\" lists several classes; expected one class in each row; set "
                  "label_separator = \"|\"") != std::string::npos);
  CHECK(refusal(kImageCsv, make_params(table, {{"label_separator", "|"}})).find("classes = [\"cat\", \"odd\"]") !=
        std::string::npos);
  const OpenedDataset images(kImageCsv,
                             make_params(table, {{"label_separator", "|"}, {"classes", Texts{"odd", "rare", "cat"}}}));
  CHECK(images.describe_fields() == Texts{"image float32 3,4,4", "label float32 3"});
  CHECK(images.describe_classes().empty());
  CHECK(images.floats(0, "label") == std::vector<float>{1, 0, 1});
  CHECK(images.floats(1, "label") == std::vector<float>{0, 0, 1});
  CHECK(images.floats(2, "label") == std::vector<float>{0, 0, 0});
  CHECK(images.floats(3, "label") == std::vector<float>{1, 0, 1});
  CHECK(refusal(kImageCsv, make_params(table, {{"label_separator", "|"}, {"classes", Texts{"cat"}}}))
            .find("\"odd\" is none of the 1 classes") != std::string::npos);
  const fs::path numbers = make_table("lists", "path,label\nimg/1.png,\"[0, 2]\"\nimg/2.png,[1]\n");
  CHECK(refusal(kImageCsv, make_params(numbers)).find("\"[0, 2]\" lists several classes") != std::string::npos);
  // Named one by one, each is one class.
  const OpenedDataset single(kImageCsv, make_params(make_table("one_class", "path,label\nimg/1.png,a|b\nimg/2.png,a\n"),
                                                    {{"classes", Texts{"a", "a|b"}}}));
  CHECK(single.integer(0, "label") == 1);
}

TEST_CASE("a list of images without a header loses no row") {
  const fs::path table = make_table("lists_of_images", "path,label\nimg/3.png,a\nimg/1.png,b\n");
  const auto names_in = [&](const std::string& file, const std::string& text) {
    const fs::path list = table.parent_path() / file;
    write_file(list, {text.begin(), text.end()});
    const OpenedDataset images(kImageCsv, make_params(table, {{"unlabelled", Texts{list.string()}}}));
    Texts names;
    for (int64_t i = 0; i < images.size(); ++i) {
      images.get(i);
      names.push_back(images.sample_name(i));
    }
    return names;
  };
  const Texts both = {"img/1.png", "img/2.png"};
  CHECK(names_in("a.csv", "img/1.png\nimg/2.png\n") == both);
  CHECK(names_in("b.csv", "img/1.png,cat\nimg/2.png,cat\n") == both);
  CHECK(names_in("c.csv", "7,img/1.png\n8,img/2.png\n") == both);
  CHECK(names_in("d.csv", "file,label\nimg/1.png,cat\nimg/2.png,dog\n") == both);
  CHECK(names_in("e.csv", ",image\n0,img/1.png\n1,img/2.png\n") == both);
  CHECK(names_in("f.csv", "\xEF\xBB\xBFpath\r\nimg/1.png\r\n\r\nimg/2.png\r\n") == both);
  CHECK(names_in("g.txt", "img/1.png\nimg/2.png\n\n") == both);
  CHECK(names_in("h.tsv", "n\tpath\n1\timg/1.png\n2\timg/2.png\n") == both);
  CHECK(names_in("one.csv", "img/9.png\n") == Texts{"img/9.png"});
  CHECK(error_of<Refused>([&] {
          names_in("lost.csv", "img/1.png\nimg/0.png\n");
        }).find("lost.csv: 1 of its 2 files does not exist") != std::string::npos);
  CHECK(error_of<Refused>([&] { names_in("only.csv", "path\n"); }).find("has no row below its header") !=
        std::string::npos);
}

TEST_CASE("a table is split into two parts, and the classes have the same numbers in both") {
  std::string text = "path,label\n";
  for (int i = 1; i <= 9; ++i) text += "img/" + std::to_string(i) + ".png,c" + std::to_string(i) + '\n';
  const fs::path table = make_table("table_parts", text);
  std::set<int64_t> seen;
  for (const char* split : {"train", "validation"}) {
    const OpenedDataset part(kImageCsv, make_params(table, {{"split", split}}));
    CHECK(part.size() < 9);
    for (int64_t i = 0; i < part.size(); ++i) {
      const int64_t label = part.integer(i, "label");
      CHECK(is_level(part.floats(i, "image"), static_cast<int>(10 * (label + 1))));
      seen.insert(label);
    }
  }
  CHECK(seen.size() == 9);
}

TEST_CASE("pairs gives both images of a row and its class") {
  const fs::path table =
      make_table("two_images", "first,second,label\nimg/1.png,img/9.png,other\nimg/2.png,img/2.png,same\n");
  const OpenedDataset pairs(kPairs, make_params(table));
  CHECK(pairs.describe_fields() == Texts{"first float32 3,4,4", "second float32 3,4,4", "label int64"});
  CHECK(is_level(pairs.floats(0, "first"), 10));
  CHECK(is_level(pairs.floats(0, "second"), 90));
  CHECK(pairs.integer(1, "label") == 1);
}

TEST_CASE("the images of a pair use separate random values, or the same") {
  const fs::path table = make_table("draws", "first,second,label\ng.png,g.png,a\n");
  write_file(table.parent_path() / "g.png", encode(".png", make_gradient(40, 40)));
  const Texts transforms = {"random_crop(8)", kUnchanged};
  const OpenedDataset independent(kPairs, make_params(table, {{"transforms", transforms}}));
  const OpenedDataset same(kPairs, make_params(table, {{"transforms", transforms}, {"same_draws", true}}));
  int equal = 0;
  std::set<std::vector<float>> seen;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    equal += independent.floats(0, "first", seed) == independent.floats(0, "second", seed);
    CHECK(same.floats(0, "first", seed) == same.floats(0, "second", seed));
    CHECK(same.floats(0, "first", seed) == independent.floats(0, "first", seed));
    seen.insert(independent.floats(0, "second", seed));
  }
  CHECK(equal <= 1);
  CHECK(seen.size() >= 8);
}

TEST_CASE("a missing second image of a pair is reported with its column") {
  const fs::path table = make_table("second", "first,second,label\nimg/1.png,img/0.png,a\n");
  CHECK(refusal(kPairs, make_params(table)).find("(" + table.string() + ":2: column \"second\")") != std::string::npos);
}

TEST_CASE("image_csv reads unlabelled images of a table without labels, by the name of its column") {
  const fs::path table = make_table("unlabelled", "path,label\nimg/3.png,a\nimg/1.png,b\n");
  const OpenedDataset labelled(kImageCsv, make_params(table));
  const std::string text = "image,path\nabsent.png,img/1.png\nabsent.png,img/3.png\n";
  const fs::path added = table.parent_path() / "new.csv";
  write_file(added, {text.begin(), text.end()});
  const OpenedDataset unlabelled(kImageCsv, make_params(table, {{"unlabelled", Texts{added.string()}}}));
  REQUIRE(unlabelled.size() == 2);
  CHECK(labelled.sample_name(0) == "img/3.png");
  CHECK(unlabelled.sample_name(1) == "img/3.png");
  CHECK(unlabelled.describe_fields().size() == 1);
  CHECK(unlabelled.describe_classes().empty());
  CHECK(unlabelled.floats(1, "image") == labelled.floats(0, "image"));
}

TEST_CASE("images that EXIF turns are reported once if coordinates or another image belong to them") {
  const fs::path table = make_table("turned",
                                    "path,first,second,label,x1,age\nimg/a.jpg,img/a.jpg,img/1.png,cat,3,40\n"
                                    "img/2.png,img/2.png,img/3.png,cat,1,20\n");
  write_file(table.parent_path() / "img" / "a.jpg", with_jpeg_orientation(encode(".jpg", make_gradient(6, 6)), 6));
  const auto log_of = [&](const std::string& plugin, const ParamValues& changes) {
    const OpenedDataset images(plugin, with_changes(make_params(table, changes), {{"transforms", Texts{kUnchanged}}}));
    const Texts before = OpenedDataset::log();
    for (int64_t i = 0; i < images.size(); ++i) images.get(i);
    CHECK(OpenedDataset::log() == before);
    return before;
  };
  const std::string image = (table.parent_path() / "img" / "a.jpg").string() + " (orientation 6)";
  const Texts coordinates = log_of(kImageCsv, {{"targets", Texts{"age", "x1"}}});
  REQUIRE(coordinates.size() == 1);
  CHECK(coordinates[0].find("turned upright by the EXIF orientation, unlike the coordinates among the targets: 1 of 2 "
                            "examined images (" +
                            image + ")") == 0);
  CHECK(log_of(kImageCsv, {{"targets", Texts{"age"}}}).empty());
  const Texts others = log_of(kPairs, {});
  REQUIRE(others.size() == 1);
  CHECK(others[0].find("turned upright by the EXIF orientation, unlike the other image of the sample: 1 of 4 examined "
                       "images (" +
                       image + ")") == 0);
  CHECK(log_of(kPairs, {{"second", "first"}}).empty());
}

TEST_CASE("transforms that move an image are reported if its targets are coordinates") {
  const fs::path table = make_table("moved", "path,x1,y,bbox2,age\nimg/1.png,0.5,1,3,0.5\nimg/2.png,0,0.5,1,40\n");
  const auto log_of = [&](const Texts& targets, const Texts& transforms) {
    const OpenedDataset data(
        kImageCsv, make_params(table, {{"labels", Texts{}}, {"targets", targets}, {"transforms", transforms}}));
    return OpenedDataset::log();
  };
  const Texts flipped = log_of({"bbox2"}, {"color_jitter(0.4)", "resize((4, 4))", "horizontal_flip()", kUnchanged});
  REQUIRE(flipped.size() == 1);
  CHECK(flipped[0].find("the transforms move the pixels of the image, but not the coordinates among the targets: "
                        "resize, horizontal_flip; expected transforms that keep each pixel in its place") == 0);
  CHECK(log_of({"bbox2"}, {"resize((4, 4))", kUnchanged}).size() == 1);
  // Scaling keeps fractions of the size, and a single y is no coordinate.
  CHECK(log_of({"x1", "y"}, {"resize((4, 4))", kUnchanged}).empty());
  CHECK(log_of({"x1", "y"}, {"random_resized_crop(4)", kUnchanged}).size() == 1);
  CHECK(log_of({"y"}, {"horizontal_flip()", kUnchanged}).empty());
  CHECK(log_of({"age"}, {"horizontal_flip()", kUnchanged}).empty());
}

TEST_CASE("images with several pages are reported before the first sample") {
  const fs::path table = make_table("pages", "path,label\nimg/1.tif,cat\nimg/2.png,dog\n");
  const std::vector<cv::Mat> pages(2, cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(10)));
  REQUIRE(cv::imwritemulti((table.parent_path() / "img" / "1.tif").string(), pages));
  const OpenedDataset data(kImageCsv, make_params(table));
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find("several pages or frames in 1 of 2 examined images (" +
                                     (table.parent_path() / "img" / "1.tif").string() +
                                     "): only the first one is read; expected one image per file") == 0);
}

TEST_CASE("rows that give an image different labels are reported") {
  const fs::path table =
      make_table("labels", "path,label\nimg/1.png,cat\nimg/2.png,cat\nimg/2.png,cat\nimg/1.png,dog\nimg/1.png,ant\n");
  OpenedDataset(kImageCsv, make_params(table));
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find(
            table.string() + ": 2 rows give an image another label than an earlier row: img/1.png is \"cat\" in "
                             "line 2 and \"dog\" in line 5; expected one label per image") == 0);
}

}  // namespace image_csv_test
