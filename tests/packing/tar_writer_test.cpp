#include "framework/packing/shard_files.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "framework/support/diagnostics/error.h"
#include "tests/packing/read_bytes.h"

namespace fs = std::filesystem;
using tenon::packing::TarWriter;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

TEST_CASE("GNU tar reads the written files, with names of any length") {
  const fs::path folder = make_absent_folder("written_tar");
  fs::create_directories(folder);
  const std::string hundred(100, 'h');
  const std::string longer(200, 'l');
  {
    TarWriter tar(folder / "a.tar");
    uint64_t bytes = 0;
    for (const std::string& name : {std::string("empty"), hundred, longer}) {
      const std::string content = name == "empty" ? "" : std::string(600, name[0]);
      tar.add(name, bytes_of(content));
      bytes += tenon::packing::count_member_bytes(name, content.size());
    }
    CHECK(tar.bytes() == bytes);
    CHECK(!fs::exists(folder / "a.tar"));
    tar.finish();
    CHECK(fs::file_size(folder / "a.tar") == tar.bytes());
    CHECK(tar.bytes() == bytes + 1024);
  }
  REQUIRE(std::system(("cd '" + folder.string() + "' && tar -xf a.tar").c_str()) == 0);
  CHECK(read_bytes(folder / "empty").empty());
  CHECK(read_bytes(folder / hundred) == std::string(600, 'h'));
  CHECK(read_bytes(folder / longer) == std::string(600, 'l'));
}

TEST_CASE("an unfinished tar file leaves no file") {
  const fs::path folder = make_absent_folder("unfinished_tar");
  fs::create_directories(folder);
  { TarWriter(folder / "a.tar").add("a", bytes_of("a")); }
  CHECK(fs::is_empty(folder));
  CHECK_THROWS_AS(TarWriter(folder / "nowhere/a.tar"), tenon::support::Error);
}
