#include "framework/support/files/files.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/test_folder.h"

namespace tenon::support {

namespace fs = std::filesystem;

namespace {

// Cases run in the folder of the test, so that paths are relative to it.
void make_configs() {
  fs::create_directories("configs/digits");
  std::ofstream("configs/digits.toml") << "x";
  std::ofstream("configs/gpt.toml") << "x";
}

}  // namespace

TEST_CASE("the nearest path is suggested, in the form in which the path was given") {
  make_configs();
  CHECK(suggest_path("configs/digts.toml", is_file) == "; did you mean configs/digits.toml?");
  CHECK(suggest_path("./configs/digts.toml", is_file) == "; did you mean ./configs/digits.toml?");
  CHECK(suggest_path(test_folder() / "configs/digts.toml", is_file) ==
        "; did you mean " + (test_folder() / "configs/digits.toml").string() + "?");
  CHECK(suggest_path("cofigs", is_folder) == "; did you mean configs?");
}

TEST_CASE("a mistyped folder of a path is corrected too") {
  make_configs();
  CHECK(suggest_path("config/gpt.toml", is_file) == "; did you mean configs/gpt.toml?");
  CHECK(suggest_path("cofigs/digts.toml", is_file) == "; did you mean configs/digits.toml?");
  CHECK(suggest_path("cofigs/digts/", is_folder) == "; did you mean configs/digits?");
}

TEST_CASE("only a path that fits is suggested") {
  make_configs();
  CHECK(suggest_path("configs/digitz", is_folder) == "; did you mean configs/digits?");
  CHECK(suggest_path("configs/digitz.toml", is_folder).empty());
  CHECK(suggest_path("config/digitz", is_file).empty());
}

TEST_CASE("nothing is suggested for a path that exists, has nothing near or is refused by the system") {
  make_configs();
  for (const std::string path :
       {"configs/gpt.toml", "configs/segmentation.toml", "nowhere/gpt.toml", "configs/gpt.toml/x", "", "/"})
    CHECK(suggest_path(path, is_file).empty());
  CHECK(suggest_path(std::string(300, 'n'), is_file).empty());
  CHECK(suggest_path("configs/" + std::string(6000, 'n'), is_file).empty());
}

}  // namespace tenon::support
