#include "framework/artifacts/files/durable_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>
#include <span>
#include <string>

#include "file_size_limit.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

TEST_CASE("a durable file replaces the earlier one and leaves no temporary file") {
  const Scratch scratch;
  write_file_durably(scratch / "a", "old", ErrorKind::checkpoint);
  write_file_durably(scratch / "a", "new", ErrorKind::checkpoint);
  CHECK(read_all(scratch / "a") == "new");
  CHECK(list_names(scratch.path()) == std::set<std::string>{"a"});
}

TEST_CASE("the earlier file keeps its name until the commit") {
  const Scratch scratch;
  write_file_durably(scratch / "a", "old", ErrorKind::checkpoint);
  {
    DurableFile file(scratch / "a", ErrorKind::checkpoint);
    file.write("new");
    CHECK(read_all(scratch / "a") == "old");
  }
  CHECK(read_all(scratch / "a") == "old");
  CHECK(list_names(scratch.path()) == std::set<std::string>{"a"});
}

TEST_CASE("a partial write leaves the earlier file and no temporary file, and reports path and reason") {
  const Scratch scratch;
  write_file_durably(scratch / "a", "old", ErrorKind::checkpoint);
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message = find_error(ErrorKind::system,
                         [&] { write_file_durably(scratch / "a", std::string(5000, 'x'), ErrorKind::checkpoint); });
  }
  CHECK(contains(message, (scratch / "a").string() + ": cannot be written: File too large"));
  CHECK(read_all(scratch / "a") == "old");
  CHECK(list_names(scratch.path()) == std::set<std::string>{"a"});
}

TEST_CASE("a full device is reported as such") {
  support::FileDescriptor full(::open("/dev/full", O_WRONLY));
  REQUIRE(full.is_open());
  const std::string text = "x";
  CHECK(write_fully(full.number(), std::as_bytes(std::span(text))) == ENOSPC);
}

TEST_CASE("a missing folder is an error of the requested kind") {
  const Scratch scratch;
  const auto write = [&] { write_file_durably(scratch / "no" / "a", "x", ErrorKind::configuration); };
  CHECK(contains(find_error(ErrorKind::configuration, write), "no/a: cannot be created: No such file or directory"));
}

TEST_CASE("a folder without write permission is reported as such") {
  if (::geteuid() == 0) return;  // root can write anywhere
  const Scratch scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto write = [&] { write_file_durably(scratch / "a", "x", ErrorKind::internal); };
  CHECK(contains(find_error(ErrorKind::internal, write), "Permission denied; choose a writable run.output_dir"));
}

TEST_CASE("a name that is a folder is an error, and the folder is unchanged") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "a" / "b");
  const auto write = [&] { write_file_durably(scratch / "a", "x", ErrorKind::internal); };
  CHECK(contains(find_error(ErrorKind::internal, write), "cannot be renamed to its final name: Is a directory"));
  CHECK(list_names(scratch.path()) == std::set<std::string>{"a"});
}

TEST_CASE("a durable folder replaces the earlier one as a whole") {
  const Scratch scratch;
  for (const std::string text : {"old", "new"}) {
    DurableFolder folder(scratch / "f", ErrorKind::checkpoint);
    std::filesystem::create_directory(folder.temporary() / "in");
    write_all(folder.temporary() / "in" / text, text);
    folder.commit();
  }
  CHECK(list_names(scratch.path()) == std::set<std::string>{"f"});
  CHECK(list_names(scratch / "f" / "in") == std::set<std::string>{"new"});
}

TEST_CASE("a durable folder that is not committed leaves nothing") {
  const Scratch scratch;
  {
    const DurableFolder folder(scratch / "f", ErrorKind::checkpoint);
    write_all(folder.temporary() / "a", "x");
  }
  CHECK(list_names(scratch.path()).empty());
}

TEST_CASE("a link is replaced in one step and a folder is not") {
  const Scratch scratch;
  CHECK(try_replace_link_durably(scratch / "latest", "a", ErrorKind::checkpoint));
  CHECK(try_replace_link_durably(scratch / "latest", "b", ErrorKind::checkpoint));
  CHECK(std::filesystem::read_symlink(scratch / "latest") == "b");
  std::filesystem::create_directory(scratch / "folder");
  const auto replace = [&] { try_replace_link_durably(scratch / "folder", "b", ErrorKind::checkpoint); };
  CHECK(contains(find_error(ErrorKind::checkpoint, replace), "cannot be renamed to its final name"));
  CHECK(list_names(scratch.path()) == std::set<std::string>{"folder", "latest"});
}

TEST_CASE("a temporary name that is taken is replaced by another one, but not without an end") {
  const Scratch scratch;
  // make_temporary_path() counts.
  for (int i = 0; i < 3; ++i) {
    const std::string taken = make_temporary_path(scratch / "a").string();
    const size_t number = std::stoul(taken.substr(taken.rfind('-') + 1));
    const auto take = [&](size_t after) {
      write_all(taken.substr(0, taken.rfind('-') + 1) + std::to_string(number + after), "x");
    };
    const auto act = [&] {
      if (i == 0) DurableFile(scratch / "a", ErrorKind::checkpoint);
      if (i == 1) DurableFolder(scratch / "a", ErrorKind::checkpoint);
      if (i == 2) try_replace_link_durably(scratch / "a", "b", ErrorKind::checkpoint);
    };
    for (size_t after = 1; after <= 10; ++after) take(after);
    CHECK(find_error(ErrorKind::checkpoint, act) == "accepted");
    for (size_t after = 11; after <= 1500; ++after) take(after);
    CHECK(contains(find_error(ErrorKind::checkpoint, act), "a: cannot be created: File exists"));
  }
}

TEST_CASE("leftovers are removed and nothing else") {
  const Scratch scratch;
  write_all(make_temporary_path(scratch / "a"), "x");
  std::filesystem::create_directories(make_temporary_path(scratch / "f") / "in");
  write_all(scratch / ".hidden", "x");
  write_all(scratch / "b.tmp-1", "x");
  remove_leftovers(scratch.path(), ErrorKind::checkpoint);
  CHECK(list_names(scratch.path()) == std::set<std::string>{".hidden", "b.tmp-1"});
}

TEST_CASE("folders are created with their parents, and a file in the way is named") {
  const Scratch scratch;
  make_folders_durably(scratch / "a/b/c", ErrorKind::configuration);
  make_folders_durably(scratch / "a/b/c", ErrorKind::configuration);
  CHECK(std::filesystem::is_directory(scratch / "a/b/c"));
  write_all(scratch / "file", "x");
  for (const std::string path : {"file", "file/a"}) {
    const auto make = [&] { make_folders_durably(scratch / path, ErrorKind::configuration); };
    CHECK(contains(find_error(ErrorKind::configuration, make), "Not a directory"));
  }
}

}  // namespace tenon::artifacts
