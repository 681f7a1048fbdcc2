#include "plugins/datasets/image_folder/image_files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/split.h"
#include "tests/datasets/written_images.h"

using namespace image_folder;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> paths_of(const ImageFiles& files) {
  std::vector<std::string> paths;
  for (const ImageFile& image : files.images) paths.push_back(std::to_string(image.label) + " " + image.path);
  return paths;
}

}  // namespace

TEST_CASE("classes and images are listed in byte order, at any depth") {
  const fs::path root = make_empty_folder("listing");
  for (const char* file :
       {"dog/b.jpg", "dog/a.PNG", "dog/2019/x.jpeg", "Cat/1.webp", "cat/1.tif", "cat/10.jpg", "cat/2.jpg"}) {
    write_file(root / file, {1});
  }
  const ImageFiles files = list_image_files(root);
  CHECK(files.classes == std::vector<std::string>{"Cat", "cat", "dog"});
  CHECK(paths_of(files) == std::vector<std::string>{"0 Cat/1.webp", "1 cat/1.tif", "1 cat/10.jpg", "1 cat/2.jpg",
                                                    "2 dog/2019/x.jpeg", "2 dog/a.PNG", "2 dog/b.jpg"});
}

TEST_CASE("folders with numbers as names are classes in the order of their values") {
  const fs::path root = make_empty_folder("numbered");
  for (const char* file : {"10/a.jpg", "2/a.jpg", "0/a.jpg", "-1/a.jpg"}) write_file(root / file, {1});
  CHECK(list_image_files(root).classes == std::vector<std::string>{"-1", "0", "2", "10"});
  write_file(root / "other" / "a.jpg", {1});
  CHECK(list_image_files(root).classes == std::vector<std::string>{"-1", "0", "10", "2", "other"});
}

TEST_CASE("blanks around the name of a folder do not belong to its class") {
  const fs::path root = make_empty_folder("blank_folders");
  for (const char* file : {"cat /a.jpg", " bee/a.jpg", "caf\xC3\xA9/a.jpg"}) write_file(root / file, {1});
  const ImageFiles files = list_image_files(root);
  CHECK(files.classes == std::vector<std::string>{"bee", "caf\xC3\xA9", "cat"});
  CHECK(paths_of(files).front() == "0  bee/a.jpg");
  write_file(root / "cat" / "a.jpg", {1});
  const std::string text = error_of<tenon::DataError>([&] { list_image_files(root); });
  CHECK(text.find("is a class named \"cat\", like ") != std::string::npos);
}

TEST_CASE("hidden files and files that are not images are left out") {
  const fs::path root = make_empty_folder("hidden");
  for (const char* file :
       {"readme.txt", ".git/a.jpg", "cat/a.jpg", "cat/._a.jpg", "cat/notes.txt", "cat/.cache/b.jpg"}) {
    write_file(root / file, {1});
  }
  fs::create_directory(root / "cat" / "folder.jpg");
  const ImageFiles files = list_image_files(root);
  CHECK(paths_of(files) == std::vector<std::string>{"0 cat/a.jpg"});
  CHECK(files.skipped.count == 1);
  CHECK(files.skipped.first == "cat/notes.txt");
}

TEST_CASE("thumbnails of a Synology server are left out") {
  const fs::path root = make_empty_folder("thumbnails");
  for (const char* file : {"@eaDir/x.jpg/SYNO.jpg", "cat/1.jpg", "cat/@eaDir/1.jpg/SYNO.jpg"})
    write_file(root / file, {1});
  const ImageFiles files = list_image_files(root);
  CHECK(paths_of(files) == std::vector<std::string>{"0 cat/1.jpg"});
  CHECK(files.skipped.thumbnail_folders == 2);
  CHECK(files.skipped.count == 0);
}

TEST_CASE("folders of splits in place of classes are refused") {
  const fs::path root = make_empty_folder("splits");
  for (const char* file : {"Train/cat/1.jpg", "VAL/cat/1.jpg", "test/cat/1.jpg"}) write_file(root / file, {1});
  const std::string text = error_of<tenon::DataError>([&] { list_image_files(root); });
  CHECK(text == root.string() +
                    ": its folders are named like splits (Train, VAL, test), and would be the classes; expected one "
                    "folder of images per class; set path = \"" +
                    (root / "Train").string() + "\" for a split");
  write_file(root / "cat" / "1.jpg", {1});
  CHECK(list_image_files(root).classes.size() == 4);
}

TEST_CASE("links to folders within a class are followed, at any depth and in any part of the tree") {
  const fs::path root = make_empty_folder("linked_folders");
  write_file(root / "store" / "deep" / "a.jpg", {1});
  write_file(root / "other" / "b.jpg", {1});
  write_file(root / "data" / "cat" / "c.jpg", {1});
  write_file(root / "data" / "dog" / "d.jpg", {1});
  fs::create_directory_symlink("../../store", root / "data" / "cat" / "more");
  fs::create_directory_symlink(root / "other", root / "store" / "deep" / "x");
  CHECK(paths_of(list_image_files(root / "data")) ==
        std::vector<std::string>{"0 cat/c.jpg", "0 cat/more/deep/a.jpg", "0 cat/more/deep/x/b.jpg", "1 dog/d.jpg"});
  // To the folder itself, to one above it, to the root of the data and above, and two that lead to each other.
  fs::create_directory_symlink(".", root / "data" / "cat" / "self");
  fs::create_directory_symlink("..", root / "data" / "cat" / "up");
  fs::create_directory_symlink(root, root / "store" / "deep" / "top");
  fs::create_directory_symlink(root / "store", root / "other" / "back");
  CHECK(paths_of(list_image_files(root / "data")) ==
        std::vector<std::string>{"0 cat/c.jpg", "0 cat/more/deep/a.jpg", "0 cat/more/deep/x/b.jpg", "1 dog/d.jpg"});
}

TEST_CASE("every extension of the formats that can be read is that of an image") {
  const fs::path root = make_empty_folder("extensions");
  std::vector<std::string> expected;
  for (const std::string extension :
       {"BMP", "JPG", "bmp", "jfif", "jpe", "jpeg", "jpg", "pbm", "pgm", "png", "pnm", "ppm", "tif", "tiff", "webp"}) {
    write_file(root / "cat" / ("a." + extension), {1});
    expected.push_back("0 cat/a." + extension);
  }
  for (const char* other : {"a.db", "a.ini", "a.json", "a", "jpg", "a.jpg.txt"}) write_file(root / "cat" / other, {1});
  const ImageFiles files = list_image_files(root);
  CHECK(paths_of(files) == expected);
  CHECK(files.skipped.count == 6);
}

TEST_CASE("links to classes and images are followed, links in a cycle are not") {
  const fs::path root = make_empty_folder("links");
  write_file(root / "store" / "a.jpg", {1});
  fs::create_directories(root / "data" / "cat");
  fs::create_directory_symlink(root / "store", root / "data" / "dog");
  fs::create_symlink(root / "store" / "a.jpg", root / "data" / "cat" / "b.jpg");
  fs::create_directory_symlink(root / "data" / "cat", root / "data" / "cat" / "circle");
  CHECK(paths_of(list_image_files(root / "data")) == std::vector<std::string>{"0 cat/b.jpg", "1 dog/a.jpg"});
}

TEST_CASE("files without an image's extension are counted, and the first is named") {
  const fs::path root = make_empty_folder("skipped");
  for (const char* file : {"b/z.gif", "b/y.heic", "b/a.jpg", "a/a.jpg", "c/a.gif", "c/b.jpg", "note.txt"})
    write_file(root / file, {1});
  fs::create_symlink("missing", root / "b" / "x");
  const ImageFiles files = list_image_files(root);
  CHECK(files.images.size() == 3);
  CHECK(files.skipped.count == 4);
  CHECK(files.skipped.first == "b/x");
}

TEST_CASE("an image or a class that is no file and no folder is named as what it is") {
  const fs::path root = make_empty_folder("not_files");
  write_file(root / "cat" / "a.jpg", {1});
  const auto refusal = [&] { return error_of<tenon::DataError>([&] { list_image_files(root); }); };
  CHECK(refusal() == "");
  const fs::path image = root / "cat" / "b.jpg";
  fs::create_symlink("missing.jpg", image);
  CHECK(refusal() ==
        image.string() +
            ": is a symbolic link to missing.jpg, which does not exist; expected an image; fix or remove it");
  fs::remove(image);
  fs::create_symlink("b.jpg", image);
  CHECK(refusal() ==
        image.string() + ": is a symbolic link to b.jpg, which leads back to it; expected an image; fix or remove it");
  fs::remove(image);
  REQUIRE(mkfifo(image.c_str(), 0600) == 0);
  CHECK(refusal() == image.string() +
                         ": is neither a file nor a folder, but a FIFO, a socket or a device; expected an "
                         "image; fix or remove it");
  fs::remove(image);
  fs::create_symlink("gone", root / "dog");
  CHECK(refusal() == (root / "dog").string() +
                         ": is a symbolic link to gone, which does not exist; expected a folder of images; fix or "
                         "remove it");
}

TEST_CASE("an unusable folder is refused by name") {
  const fs::path root = make_empty_folder("refused");
  const auto refusal = [](const fs::path& folder) {
    return error_of<tenon::DataError>([&] { list_image_files(folder); });
  };
  CHECK(refusal(root / "missing").find((root / "missing").string() + ": cannot be listed: No such file") == 0);
  CHECK(refusal(root).find(root.string() + ": holds no folder") == 0);
  write_file(root / "file", {1});
  CHECK(refusal(root / "file").find("cannot be listed: Not a directory") != std::string::npos);
  write_file(root / "cat" / "a.jpg", {1});
  write_file(root / "dog" / "a.txt", {1});
  CHECK(refusal(root).find((root / "dog").string() + ": the class holds no image") == 0);
}

TEST_CASE("the validation part is a fixed fraction that depends only on the path") {
  int64_t chosen = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string path = "cat/" + std::to_string(i) + ".jpg";
    chosen += datasets::is_validation_name(path, 0.2);
    if (datasets::is_validation_name(path, 0.1)) CHECK(datasets::is_validation_name(path, 0.2));
  }
  CHECK(chosen > 1880);  // 2000 minus three standard deviations
  CHECK(chosen < 2120);
  // The split must never change, because old runs must find the same samples.
  CHECK(datasets::is_validation_name("cat/0.jpg", 0.1741));
  CHECK_FALSE(datasets::is_validation_name("cat/0.jpg", 0.1740));
}
