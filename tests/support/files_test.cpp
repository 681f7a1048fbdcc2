#include "framework/support/files/files.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <fstream>
#include <functional>

#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::support {

namespace fs = std::filesystem;

namespace {

std::string refusal_of(ErrorKind kind, const std::function<void()>& act) { return find_error(kind, act); }

fs::path make_loop() {
  const fs::path loop = test_folder() / "loop";
  fs::remove(loop);
  fs::create_symlink("loop", loop);
  return loop;
}

}  // namespace

TEST_CASE("a path that the system refuses is neither a file nor a folder, and its description has the reason") {
  for (const fs::path& path : {make_loop(), fs::path(std::string(300, 'n')), fs::path(std::string(6000, 'n'))}) {
    CHECK_FALSE(path_exists(path));
    CHECK_FALSE(is_folder(path));
    CHECK_FALSE(is_file(path));
    CHECK(describe_path(path).starts_with("cannot be read: "));
    CHECK(find_canonical_or_absolute(path).is_absolute());
  }
  CHECK(describe_path(make_loop()) == "cannot be read: Too many levels of symbolic links");
}

TEST_CASE("paths are described by what they are") {
  std::ofstream(test_folder() / "file") << "x";
  CHECK(describe_path(test_folder() / "file") == "is a file");
  CHECK(describe_path(test_folder()) == "is a folder");
  CHECK(describe_path(test_folder() / "nowhere") == "does not exist");
  CHECK(describe_path("") == "does not exist");
  CHECK(describe_path("/dev/null") == "is neither a file nor a folder");
  CHECK(format_path("") == "\"\"");
  CHECK(make_absolute("") == "");
}

TEST_CASE("a refused request has the path, the reason and the kind, or the kind system for a fault of the machine") {
  const std::string loop = make_loop().string();
  const auto kind = ErrorKind::plugin;
  CHECK(refusal_of(kind, [&] { list_folder(loop, kind); }) ==
        loop + ": cannot be listed: Too many levels of symbolic links");
  CHECK(refusal_of(kind, [&] { read_file_size(loop, kind); }) ==
        loop + ": has no size: Too many levels of symbolic links");
  CHECK(refusal_of(kind, [&] { find_canonical(loop, kind); }) ==
        loop + ": cannot be read: Too many levels of symbolic links");
  const std::string file = (test_folder() / "in_the_way").string();
  std::ofstream(file) << "x";
  CHECK(refusal_of(kind, [&] { replace_with_empty_folder(file + "/folder", kind); }) ==
        file + "/folder: cannot be removed: Not a directory");
  CHECK(make_path_error(kind, "a", "cannot be written", ENOSPC).kind() == ErrorKind::system);
  CHECK(make_path_error(kind, "a", "cannot be written", ENOENT).kind() == kind);
}

TEST_CASE("a folder is listed in byte order") {
  const fs::path folder = test_folder() / "listed";
  for (const char* const name : {"b", "a", "B", ".hidden"}) fs::create_directories(folder / name);
  const std::vector<fs::path> expected{folder / ".hidden", folder / "B", folder / "a", folder / "b"};
  CHECK(list_folder(folder, ErrorKind::system) == expected);
}

}  // namespace tenon::support
