#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/example_data.h"
#include "tests/end_to_end/hosted_run.h"

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

}  // namespace

TEST_CASE("shapes are 600 pictures with masks of four classes and of edges that count for none") {
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
  const int64_t all = 50 * 96 * 96;
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

TEST_CASE("example data is the same each time") {
  const fs::path one = make_example_data("classes");
  const fs::path other = make_empty_folder("made_again") / "classes";
  REQUIRE(run_program("example_data", {"classes", other.string()}).exit_code == 0);
  for (const char* file : {"classes.csv", "circle/00000.jpg", "triangle/00249.jpg"})
    CHECK(read_file(one / file) == read_file(other / file));
}

TEST_CASE("example data is never written over what is there, and leaves nothing half done") {
  const fs::path folder = make_empty_folder("taken");
  write_file(folder / "data/notes.txt", "of somebody");
  const Outcome outcome = run_program("example_data", {"classes", (folder / "data").string()});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.errors.find("data: is there already; expected a new folder; remove it or name another") !=
        std::string::npos);
  CHECK(list_files(folder).size() == 1);
  CHECK(list_files(folder / "data").size() == 1);
}

TEST_CASE("a wrong command line of example-data ends with code 2 and a way out") {
  const Outcome unknown = run_program("example_data", {"shape", "data"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.errors.find("there is no kind \"shape\" of example data; expected one of ") != std::string::npos);
  CHECK(unknown.errors.find("pairs, shapes") != std::string::npos);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"shapes"}, {"shapes", "a", "b"}}) {
    const Outcome outcome = run_program("example_data", arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find("usage: scripts/example-data KIND DIR") == 0);
  }
  const Outcome help = run_program("example_data", {"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("\n  shapes        pictures with several shapes") != std::string::npos);
}
