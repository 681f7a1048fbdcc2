#include "plugins/datasets/tar_shards/tar_reader.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include <tenon/error.hpp>

#include "plugins/datasets/tar_shards/shard_index.h"
#include "tests/datasets/written_images.h"
#include "tests/datasets/written_tar.h"

namespace tar_reader_test {

namespace fs = std::filesystem;
using namespace tar_shards;

namespace {

// Bytes in memory. Records the largest number of bytes requested at once.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(TarBytes bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override {
    REQUIRE(offset <= bytes_.size());
    REQUIRE(bytes.size() <= bytes_.size() - offset);
    limit_ = std::max(limit_, bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
  }
  size_t most() const { return limit_; }

 private:
  std::string path_ = "a.tar";
  TarBytes bytes_;
  mutable size_t limit_ = 0;
};

struct ReadMember {
  std::string name;
  std::string content;
  bool operator==(const ReadMember&) const = default;
};

std::vector<ReadMember> read_all(const ByteSource& source) {
  TarReader reader(source);
  std::vector<ReadMember> members;
  while (const auto member = reader.next()) {
    const auto content = reader.peek(*member, member->size);
    members.push_back({member->name, std::string(content.begin(), content.end())});
  }
  return members;
}

std::string complaint(const TarBytes& bytes) {
  return error_of<tenon::DataError>([&] { read_all(MemorySource(bytes)); });
}

void check_complaint(const TarBytes& bytes, const std::string& text) {
  const std::string found = complaint(bytes);
  CAPTURE(found);
  CHECK(found.find(text) != std::string::npos);
}

std::string pax(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

}  // namespace

TEST_CASE("the members of a tar file are read with their names and bytes") {
  const MemorySource source(WrittenTar()
                                .add("folder/", "", '5')
                                .add("folder/0.txt", "zero")
                                .add("1.bin", std::string(1000, 'x'))
                                .add("old.txt", "0", '\0')
                                .add("empty.txt", "")
                                .bytes());
  CHECK(read_all(source) ==
        std::vector<ReadMember>{
            {"folder/0.txt", "zero"}, {"1.bin", std::string(1000, 'x')}, {"old.txt", "0"}, {"empty.txt", ""}});
}

TEST_CASE("all formats of GNU tar are read") {
  const fs::path folder = make_empty_folder("gnu_tar");
  const std::string deep = std::string(60, 'd') + "/" + std::string(60, 'e') + "/";
  const std::string longer = std::string(120, 'f') + "/" + std::string(130, 'g') + ".txt";
  write_file(folder / "in/a.txt", {'a'});
  write_file(folder / ("in/" + deep + "b.txt"), {'b', 'b'});
  write_file(folder / ("in/" + longer), {'c', 'c', 'c'});
  const std::string begin = "cd '" + folder.string() + "' && tar --sort=name --format=";
  for (const std::string format : {"gnu", "pax", "oldgnu"}) {
    CAPTURE(format);
    REQUIRE(std::system((begin + format + " -cf " + format + ".tar in").c_str()) == 0);
    const auto members = read_all(ShardFile((folder / (format + ".tar")).string(), ShardFile::Keep::open));
    CHECK(members ==
          std::vector<ReadMember>{{"in/a.txt", "a"}, {"in/" + deep + "b.txt", "bb"}, {"in/" + longer, "ccc"}});
  }
  for (const std::string format : {"ustar", "v7"}) {
    CAPTURE(format);
    const std::string what = format == "ustar" ? "in/a.txt 'in/" + deep + "b.txt'" : "in/a.txt";
    REQUIRE(std::system((begin + format + " -cf " + format + ".tar " + what).c_str()) == 0);
    const auto members = read_all(ShardFile((folder / (format + ".tar")).string(), ShardFile::Keep::closed));
    CHECK(members.size() == (format == "ustar" ? 2 : 1));
    if (format == "ustar") CHECK(members.back() == ReadMember{"in/" + deep + "b.txt", "bb"});
  }
}

TEST_CASE("extended headers apply only to the next member") {
  const MemorySource source(WrittenTar()
                                .add("pax", pax("mtime", "1.5") + pax("path", "long=name.txt"), 'x')
                                .add("short", "1")
                                .add("@LongLink", std::string("another.txt\0", 12), 'L')
                                .add("short", "2")
                                .add("global", pax("comment", "hello"), 'g')
                                .add("short", "3")
                                .bytes());
  CHECK(read_all(source) == std::vector<ReadMember>{{"long=name.txt", "1"}, {"another.txt", "2"}, {"short", "3"}});

  TarBytes sized = WrittenTar().add("pax", pax("size", "3"), 'x').add("big", "abc").bytes();
  std::memset(&sized[1024 + 124], '0', 11);
  set_tar_checksum(&sized[1024]);
  CHECK(read_all(MemorySource(sized)) == std::vector<ReadMember>{{"big", "abc"}});
}

TEST_CASE("a size in base 256 is read") {
  TarBytes tar = WrittenTar().add("a", "abc").bytes();
  std::memset(&tar[124], 0, 12);
  tar[124] = 0x80;
  tar[135] = 3;
  set_tar_checksum(tar.data());
  CHECK(read_all(MemorySource(tar)) == std::vector<ReadMember>{{"a", "abc"}});
}

TEST_CASE("a truncated tar file is refused wherever it ends") {
  const TarBytes whole = WrittenTar().add("a.txt", std::string(700, 'a')).add("b.txt", "b").bytes();
  for (size_t size = 0; size < whole.size() - 512; ++size) {
    CAPTURE(size);
    CHECK(complaint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}) != "");
  }
  CHECK(complaint({whole.begin(), whole.end() - 512}) == "");  // one block of zeros is enough
  check_complaint({whole.begin(), whole.begin() + 1000},
                  "a.tar: byte 0: the member \"a.txt\" has 700 bytes, and the file ends 488 bytes after its header");
  check_complaint({whole.begin(), whole.begin() + 2560},
                  "a.tar: byte 2560: the file ends without the two blocks of zeros");
}

TEST_CASE("damage and unsupported members are refused with the byte offset") {
  TarBytes wrong = WrittenTar().add("a.txt", "a").add("b.txt", "b").bytes();
  wrong[1024 + 3] ^= 1;
  check_complaint(wrong, "a.tar: byte 1024: the checksum of the header is wrong");

  TarBytes no_number = WrittenTar().add("a.txt", "a").bytes();
  no_number[130] = '9';
  set_tar_checksum(no_number.data());
  check_complaint(no_number, "byte 0: the size of the member \"a.txt\" is not a number");

  TarBytes format = WrittenTar().add("a.txt", "a").bytes();
  format[257] = 'U';
  set_tar_checksum(format.data());
  check_complaint(format, "the header has an unknown format");

  check_complaint(WrittenTar().add("l", "", '2').bytes(), "the member \"l\" is a link");
  check_complaint(WrittenTar().add("l\x1b", "", '3').bytes(), "the member \"l?\" is of type \"3\"");
  check_complaint(WrittenTar().add("f", "abc", '5').bytes(), "is a folder and has contents");
  check_complaint(WrittenTar().add("", "abc").bytes(), "a member has no name");
  check_complaint(WrittenTar().add("x", pax("path", "a"), 'x').bytes(), "the archive ends where the member");
  check_complaint(WrittenTar().add("x", "12 path", 'x').bytes(), "has an unreadable record");
  check_complaint(WrittenTar().add("x", pax("size", "-1"), 'x').bytes(), "gives a size that is not a number");
  check_complaint(WrittenTar().add("x", pax("GNU.sparse.major", "1"), 'x').bytes(), "is a sparse file");
  check_complaint(WrittenTar().add("g", pax("path", "a"), 'g').bytes(), "a global header gives a path");
  check_complaint(WrittenTar().add("L", std::string(70000, 'n'), 'L').bytes(), "an extended header has 70000 bytes");
  check_complaint({}, "a.tar: byte 0: the file is empty");
  check_complaint({0x1F, 0x8B, 8, 0, 0, 0}, "compressed by gzip");
  check_complaint({'t', 'e', 'x', 't'}, "byte 0: the file ends without");

  TarBytes joined = WrittenTar().add("a.txt", "a").bytes();
  const TarBytes second = WrittenTar().add("b.txt", "b").bytes();
  joined.insert(joined.end(), second.begin(), second.end());
  check_complaint(joined, "byte 1024: the file has data after the end of the archive");
}

TEST_CASE("damaged headers end in an error or in members within the file, and take little memory") {
  const TarBytes whole = WrittenTar()
                             .add("x", pax("path", "first.txt") + pax("size", "5"), 'x')
                             .add("short", "12345")
                             .add("L", "second.txt", 'L')
                             .add("short", std::string(600, 'b'))
                             .add("third.txt", "3")
                             .bytes();
  std::mt19937 random(1);
  int refused = 0;
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    TarBytes bytes = whole;
    for (unsigned int changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random() % 3 == 0 ? 0x80 : random());
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    // A valid checksum lets the reader process the damage.
    for (size_t header = 0; header + 512 <= bytes.size(); header += 512) {
      if (std::memcmp(&bytes[header + 257], "ustar", 5) == 0) set_tar_checksum(&bytes[header]);
    }
    const MemorySource source(bytes);
    try {
      TarReader reader(source);
      while (const auto member = reader.next()) {
        REQUIRE(member->content <= source.size());
        REQUIRE(member->size <= source.size() - member->content);
      }
      ++read;
    } catch (const tenon::DataError&) {
      ++refused;
    }
    CHECK(source.most() <= 64 * 1024);
  }
  CHECK(refused > 1000);
  CHECK(read > 1000);
}

TEST_CASE("braces in a path are expanded as in a shell") {
  using Texts = std::vector<std::string>;
  CHECK(list_shards("none/a-{08..11}.tar") ==
        Texts{"none/a-08.tar", "none/a-09.tar", "none/a-10.tar", "none/a-11.tar"});
  CHECK(list_shards("none/{8..9}{a,,b}") == Texts{"none/8a", "none/8", "none/8b", "none/9a", "none/9", "none/9b"});
  for (const std::string wrong : {"a{1..}", "a{x..y}", "a{2..1}", "a{}", "a{b}", "a{0..9999999}", "a{-1..2}", "a{1"}) {
    CAPTURE(wrong);
    CHECK(error_of<tenon::DataError>([&] { list_shards(wrong); }).find(wrong + ": ") == 0);
  }
}

TEST_CASE("a folder of shards is listed in byte order, and compressed ones are refused") {
  const fs::path folder = make_empty_folder("shard_folder");
  for (const std::string name : {"b.tar", "a.tar", ".c.tar", "d.txt"}) write_file(folder / name, {0});
  CHECK(list_shards(folder.string()) ==
        std::vector<std::string>{(folder / "a.tar").string(), (folder / "b.tar").string()});
  write_file(folder / "e.tar.gz", {0});
  CHECK(error_of<tenon::DataError>([&] { list_shards(folder.string()); }).find("e.tar.gz: is compressed") !=
        std::string::npos);
  CHECK(error_of<tenon::DataError>([&] {
          list_shards(make_empty_folder("no_shards").string());
        }).find("holds no .tar file") != std::string::npos);
}

}  // namespace tar_reader_test
