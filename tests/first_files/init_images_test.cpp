// Tests host init images.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "host/init/image_folders.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace init_images_test {

using namespace tenon;
using end_to_end::Outcome;
using end_to_end::read_file;
using end_to_end::run_host;
namespace fs = std::filesystem;

namespace {

struct Colour {
  int red, green, blue;
};

// Writes noisy images of one colour: 0.ppm, 1.ppm and so on.
void write_images(const fs::path& folder, int count, Colour colour, int width = 40, int height = 30) {
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    std::string image = "P6 " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
    for (int pixel = 0; pixel < width * height; ++pixel)
      for (const int level : {colour.red, colour.green, colour.blue})
        image += static_cast<char>(level + static_cast<int>(random() % 40));
    end_to_end::write_file(folder / (std::to_string(i) + ".ppm"), image);
  }
}

constexpr Colour kRed = {200, 40, 40}, kGreen = {40, 200, 40}, kBlue = {40, 40, 200};

// Writes this number of images into each of the folders red and green.
void write_two_classes(const fs::path& folder, int count) {
  write_images(folder / "red", count, kRed);
  write_images(folder / "green", count, kGreen);
}

std::string last_line(const std::string& text) {
  const std::string lines = text.substr(0, text.find_last_not_of('\n') + 1);
  return lines.substr(lines.rfind('\n') + 1);
}

// Refuses the folder with this exit code and message. No file is written.
void check_refused(const std::string& folder, int exit_code, const std::string& message) {
  CAPTURE(folder);
  const Outcome outcome = run_host({"init", "images", folder});
  check_errors(outcome, exit_code, {message});
  CHECK(outcome.output == "");
  CHECK_FALSE(fs::exists(test_folder() / "run.toml"));
}

Outcome train_briefly(const std::string& config) {
  return run_host({"--config", config, "--set", "train.epochs=3", "--set", "run.threads=1"});
}

}  // namespace

TEST_CASE("host init images writes a run file that trains") {
  const fs::path photos = test_folder() / "my photos";
  write_two_classes(photos, 40);
  write_images(photos / "blue", 12, kBlue);
  const Outcome written = require_success(run_host({"init", "images", "my photos"}));
  CHECK(contains(written.output, "my photos: 3 classes, "));
  CHECK(last_line(written.output) == "host --config run.toml");

  const std::string text = read_file(test_folder() / "run.toml");
  CHECK(std::ranges::count(text, '\n') <= 70);
  CHECK(contains(text, "the smallest \"blue\".\n"));
  CHECK(contains(text, "path = \"my photos\"\n"));
  CHECK(contains(text, "resize(32)"));
  CHECK(contains(text, "monitor = \"validation/f1\"\n"));  // the classes are unbalanced
  CHECK(run_host({"--config", "run.toml", "--check"}).exit_code == 0);

  const Outcome trained = require_success(train_briefly("run.toml"));
  CHECK(trained.errors == "");
  const fs::path run = end_to_end::find_run_folder(test_folder() / "runs", "run");
  CHECK(end_to_end::read_last_metric(run, "validation/accuracy") > 0.9);
  CHECK(end_to_end::read_last_metric(run, "validation/f1") > 0.5);
}

TEST_CASE("host init images uses the folders train, val and test") {
  for (const std::string part : {"train", "valid", "test"}) {
    write_images(test_folder() / "photos" / part / "red", part == "train" ? 16 : 3, kRed);
    write_images(test_folder() / "photos" / part / "green", part == "train" ? 17 : 4, kGreen);
  }
  const Outcome written = require_success(run_host({"init", "images", "photos", "--output", "colours.toml"}));
  CHECK(contains(written.output,
                 "2 classes, 33 images for training (16 to 17 in a class), 7 for validation, 7 for the "
                 "test\n"));
  const std::string text = read_file(test_folder() / "colours.toml");
  CHECK(contains(text, "path = \"photos/train\"\n"));
  CHECK(contains(text, "path = \"photos/valid\""));
  CHECK(contains(text, "path = \"photos/test\""));
  CHECK_FALSE(contains(text, "split"));
  CHECK_FALSE(contains(text, "precision_recall_f1"));  // the classes are balanced
  const Outcome trained = require_success(train_briefly("colours.toml"));
  CHECK(contains(trained.output, "test/accuracy"));

  // The names of the folders in any case.
  fs::rename(test_folder() / "photos" / "train", test_folder() / "photos" / "Train");
  fs::rename(test_folder() / "photos" / "valid", test_folder() / "photos" / "Val");
  REQUIRE(run_host({"init", "images", "photos"}).exit_code == 0);
  CHECK(contains(read_file(test_folder() / "run.toml"), "path = \"photos/Val\""));
  fs::remove(test_folder() / "run.toml");
  fs::rename(test_folder() / "photos" / "Train", test_folder() / "photos" / "train");
  fs::rename(test_folder() / "photos" / "Val", test_folder() / "photos" / "valid");

  // Without a folder for validation, a part of train is used for it.
  fs::remove_all(test_folder() / "photos" / "valid");
  REQUIRE(run_host({"init", "images", "photos"}).exit_code == 0);
  CHECK(contains(read_file(test_folder() / "run.toml"), "split = \"validation\""));
  CHECK(train_briefly("run.toml").exit_code == 0);
}

TEST_CASE("host init images writes the run file although an image cannot be read") {
  write_two_classes(test_folder() / "photos", 10);
  end_to_end::write_file(test_folder() / "photos" / "green" / "0.ppm", "no image");
  check_errors(run_host({"init", "images", "photos"}), 0,
               {"1 of 20 examined images cannot be read, first ",
                "; list all of them with host data --config run.toml --all\n"});
  const Outcome listed = run_host({"data", "--config", "run.toml", "--all"});
  CHECK(listed.exit_code != 0);
  CHECK(contains(listed.output + listed.errors, "0.ppm"));
}

TEST_CASE("host init images keeps a file unless --force is given") {
  write_two_classes(test_folder() / "photos", 20);
  end_to_end::write_file(test_folder() / "run.toml", "mine");
  check_errors(run_host({"init", "images", "photos"}), 2,
               {"--output run.toml exists; expected a new file, or --force to replace it"});
  CHECK(read_file(test_folder() / "run.toml") == "mine");
  CHECK(run_host({"init", "images", "photos", "--force"}).exit_code == 0);
  CHECK(contains(read_file(test_folder() / "run.toml"), "[model]"));
  check_errors(run_host({"init", "images", "photos", "--force", "--output", "photos"}), 2,
               {"--output photos is a folder; expected a file"});
}

TEST_CASE("the paths of the run file are relative to it, and absolute if the folder is") {
  const std::string name = "it's \"50 %\" ${HOME}";  // quotes, and the syntax of variables
  write_two_classes(test_folder() / name, 20);
  fs::create_directory(test_folder() / "configs");
  REQUIRE(run_host({"init", "images", name + "/", "--output", "configs/a.toml"}).exit_code == 0);
  CHECK(contains(read_file(test_folder() / "configs" / "a.toml"), "path = \"../it's"));
  CHECK(run_host({"--config", "configs/a.toml", "--check"}).exit_code == 0);
  const fs::path absolute = test_folder() / name;
  REQUIRE(run_host({"init", "images", absolute, "--output", "configs/b.toml"}).exit_code == 0);
  CHECK(run_host({"--config", "configs/b.toml", "--check"}).exit_code == 0);
}

TEST_CASE("every choice of host init images passes the checks before the first step") {
  const fs::path photos = test_folder() / "photos";
  write_two_classes(photos, 20);
  const auto check = [&](int64_t images, int64_t side, const std::string& model, const std::string& crop) {
    CAPTURE(images);
    CAPTURE(side);
    const host::ImageData data{.folders = {photos},
                               .train = {{"green", images / 2}, {"red", images - images / 2}},
                               .validation = {{"green", 2}, {"red", 2}},
                               .validation_fraction = 0.1,
                               .shorter_side = side};
    const fs::path file = test_folder() / "run.toml";
    const std::string text = host::format_image_run_file(data, file, "host --config run.toml");
    CHECK(contains(text, "use = \"" + model + "\""));
    CHECK(contains(text, "center_crop(" + crop + ")"));
    end_to_end::write_file(file, text);
    require_success(run_host({"--config", file, "--check"}));
  };
  check(36, 8, "small_cnn", "16");
  check(36, 28, "small_cnn", "32");
  check(1999, 4000, "small_cnn", "64");
  check(2000, 32, "resnet", "32");
  check(2000, 100, "resnet", "96");
  check(19999, 4000, "resnet", "128");
  check(20000, 4000, "resnet", "224");
}

TEST_CASE("the batch size is bounded by the number of images") {
  const auto batch_size = [](int64_t images) {
    return host::choose_settings({.folders = {}, .train = {{"a", images}}, .validation = {}}).batch_size;
  };
  CHECK(batch_size(1) == 1);
  CHECK(batch_size(18) == 4);
  CHECK(batch_size(255) == 32);
  CHECK(batch_size(100000) == 64);
}

TEST_CASE("host init images refuses folders without classes of images") {
  const fs::path& folder = test_folder();
  write_images(folder / "photos" / "red", 3, kRed);
  check_refused("phots", 2, "phots does not exist; did you mean photos?; expected a folder with a folder of images");
  check_refused("photos/red/0.ppm", 2, "photos/red/0.ppm is a file; expected a folder");
  check_refused("photos", 4,
                "photos: has one class folder, red; expected a folder for each class, such as photos/cat/1.jpg");
  check_refused("photos/red", 4,
                "photos/red: 3 images are directly in it; expected a folder for each class, such as "
                "photos/red/cat/1.jpg and photos/red/dog/1.jpg: move each image to the folder of its class");
  write_two_classes(folder / "nested" / "photos", 3);
  check_refused("nested", 4, "nested: has one class folder, photos; expected a folder for each class");
  check_refused("nested", 4, "; did you mean nested/photos?");
  end_to_end::write_file(folder / "texts" / "cat" / "notes.txt", "no image");
  check_refused("texts", 4, "texts: holds no image; expected files that end in .jpg, .png or another known extension");
  fs::create_directories(folder / "empty");
  check_refused("empty", 4, "empty: holds no image");
  write_images(folder / "partly" / "red", 3, kRed);
  fs::create_directories(folder / "partly" / "green");
  check_refused("partly", 4, "partly/green: the class holds no image");
  write_two_classes(folder / "few", 1);
  check_refused("few", 4, "few: has 2 images, 1 of them in the class green; expected enough for training and");
  for (const std::string part : {"train", "val"})
    for (const std::string name : {"red", part == "val" ? "blue" : "green"})
      write_images(folder / "divided" / part / name, 3, kRed);
  check_refused("divided", 4,
                "divided/val/blue: is no class of the training data; expected a folder divided/train/blue");
  write_images(folder / "flat" / "train", 3, kRed);
  write_images(folder / "flat" / "test", 3, kRed);
  check_refused("flat", 4, "flat/train: 3 images are directly in it");
  for (const char* image : {"a/0.ppm", "a/1.ppm", "b/0.ppm", "b/1.ppm"})
    end_to_end::write_file(folder / "broken" / image, "P6 4 4 255\n");
  check_refused("broken", 4, "broken/a/0.ppm");
}

TEST_CASE("host init images refuses a working directory in which runs would become a class") {
  write_two_classes(test_folder(), 20);
  check_refused(".", 2, "the images are in the working directory, where the folder runs of a run would become a class");
}

}  // namespace init_images_test
