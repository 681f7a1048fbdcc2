#include "framework/components/loading/plugin_files.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "tests/components/fixture_plugins.h"
#include "tests/test_folder.h"

namespace inspect_library_test {

namespace fs = std::filesystem;
using tenon::components::fixture_directory;
using tenon::components::inspect_library;
using tenon::components::message_of;
using tenon::support::ErrorKind;

namespace {

constexpr const char* kEntry = "tenon_plugin_open";

fs::path sound_plugin() { return fixture_directory("counting") / "counting.so"; }

std::string read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Writes a file with these bytes to a separate folder. Every call replaces the file.
fs::path write_library(const std::string& bytes) {
  const fs::path folder = tenon::test_folder() / "inspected";
  fs::create_directories(folder);
  const fs::path file = folder / "plugin.so";
  fs::remove(file);  // overwriting it would wait for the disk on some file systems
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

std::string refusal_of(const fs::path& file) {
  return message_of([&] { inspect_library(file, kEntry); }, ErrorKind::plugin);
}

std::string refusal_of_bytes(const std::string& bytes) { return refusal_of(write_library(bytes)); }

template <class T>
T get(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
std::string with(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

// The file offset of the first program header with this type.
size_t find_segment(const std::string& bytes, uint32_t type) {
  const auto header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t place = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (get<Elf64_Phdr>(bytes, place).p_type == type) return place;
  }
  FAIL("the plugin has no such segment");
  return 0;
}

// The first number that is neither an offset in the file nor an address in its segments, which may extend beyond the
// file.
uint64_t find_end(const std::string& bytes) {
  uint64_t end = bytes.size();
  const auto header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = get<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
  }
  return end;
}

// The file offset of the first dynamic entry with this tag.
size_t find_dynamic(const std::string& bytes, int64_t tag) {
  const auto dynamic = get<Elf64_Phdr>(bytes, find_segment(bytes, PT_DYNAMIC));
  for (size_t place = dynamic.p_offset; place < dynamic.p_offset + dynamic.p_filesz; place += sizeof(Elf64_Dyn))
    if (get<Elf64_Dyn>(bytes, place).d_tag == tag) return place;
  FAIL("the plugin has no such dynamic entry");
  return 0;
}

}  // namespace

TEST_CASE("a valid plugin passes, with the libraries that it needs") {
  const auto facts = inspect_library(sound_plugin(), kEntry);
  CHECK(std::find(facts.needed.begin(), facts.needed.end(), "libc.so.6") != facts.needed.end());
  CHECK(tenon::components::find_libtorch(facts.needed).empty());
}

TEST_CASE("the entry is also found in the older hash table, and an imported function does not count as exported") {
  const fs::path file = fixture_directory("system_v_hash") / "system_v_hash.so";
  CHECK_NOTHROW(inspect_library(file, kEntry));
  for (const fs::path& library : {file, sound_plugin()})
    for (const char* symbol : {"malloc", "free", "tenon_plugin_close", ""}) {
      CAPTURE(symbol);
      const std::string message = message_of([&] { inspect_library(library, symbol); }, ErrorKind::plugin);
      CHECK(message.find(std::string(": has no symbol ") + symbol + "; expected a Tenon plugin") != std::string::npos);
    }
}

TEST_CASE("a library without the entry is refused with the message for files that are not plugins") {
  const fs::path file = fixture_directory("missing_entry") / "missing_entry.so";
  CHECK(refusal_of(file) ==
        file.string() +
            ": has no symbol tenon_plugin_open; expected a Tenon plugin: build it with tenon_add_plugin() and "
            "TENON_PLUGIN, or move the file out of the plugin directory");
}

TEST_CASE("a plugin truncated at any length is refused") {
  const std::string bytes = read_bytes(sound_plugin());
  std::vector<size_t> lengths;
  for (size_t length = 0; length < 256; ++length) lengths.push_back(length);
  for (size_t length = 256; length < bytes.size(); length += 97) lengths.push_back(length);
  for (size_t missing = 1; missing <= 64; ++missing) lengths.push_back(bytes.size() - missing);
  for (const size_t length : lengths) {
    CAPTURE(length);
    CHECK(refusal_of_bytes(bytes.substr(0, length)).find("; expected a whole shared library") != std::string::npos);
  }
  CHECK(refusal_of_bytes(bytes).empty());
}

TEST_CASE("a file that is not a shared library for this machine is refused with its type") {
  const std::string bytes = read_bytes(sound_plugin());
  const auto machine = offsetof(Elf64_Ehdr, e_machine);
  const auto type = offsetof(Elf64_Ehdr, e_type);
  const std::pair<std::string, const char*> wrong[] = {
      {"", "is empty"},
      {"hello\n", "is not an ELF file; it begins with \"hello\\x0a\""},
      {"#!/bin/sh\necho hello\n", "is not an ELF file; it begins with \"#!/bin/s\""},
      {std::string(5000, '\0'), "is not an ELF file; it begins with \"\\x00"},
      {with<uint8_t>(bytes, EI_CLASS, ELFCLASS32), "is a 32-bit ELF file"},
      {with<uint8_t>(bytes, EI_CLASS, 77), "is an ELF file of an unknown class"},
      {with<uint8_t>(bytes, EI_DATA, ELFDATA2MSB), "is a big-endian ELF file"},
      {with<uint8_t>(bytes, EI_DATA, 77), "is an ELF file of an unknown byte order"},
      {with<uint8_t>(bytes, EI_VERSION, 2), "is damaged: its ELF version"},
      {with<uint16_t>(bytes, machine, EM_S390), "is built for S/390"},
      {with<uint16_t>(bytes, machine, 0xFFFF), "is built for machine 65535"},
      {with<uint16_t>(bytes, type, ET_EXEC), "is an executable"},
      {with<uint16_t>(bytes, type, ET_REL), "is an object file"},
      {with<uint16_t>(bytes, type, ET_CORE), "is a core dump"},
      {with<uint16_t>(bytes, type, 0x1234), "is an ELF file of type 4660"}};
  for (const auto& [content, found] : wrong) {
    const std::string message = refusal_of_bytes(content);
    CAPTURE(message);
    CHECK(message.find("inspected/plugin.so: " + std::string(found)) != std::string::npos);
    CHECK(message.find("; expected a whole shared library for this machine (") != std::string::npos);
    CHECK(message.find("move the file out of the plugin directory") != std::string::npos);
  }
}

TEST_CASE("offsets, counts and addresses beyond the file are refused and not used") {
  const std::string bytes = read_bytes(sound_plugin());
  const size_t load = find_segment(bytes, PT_LOAD);
  const size_t dynamic = find_segment(bytes, PT_DYNAMIC);
  const auto value_of = [&](int64_t tag) { return find_dynamic(bytes, tag) + offsetof(Elf64_Dyn, d_un); };
  const auto as_if_dynamic = [&](size_t field, auto value) { return with(bytes, dynamic + field, value); };
  std::vector<std::string> wrong;
  for (const uint64_t huge : {~uint64_t{0}, ~uint64_t{0} - 63, uint64_t{1} << 63, uint64_t{1} << 32, find_end(bytes)}) {
    for (const size_t place :
         {offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_phoff), load + offsetof(Elf64_Phdr, p_offset),
          load + offsetof(Elf64_Phdr, p_filesz), dynamic + offsetof(Elf64_Phdr, p_vaddr),
          dynamic + offsetof(Elf64_Phdr, p_filesz), value_of(DT_STRTAB), value_of(DT_STRSZ), value_of(DT_SYMTAB),
          value_of(DT_GNU_HASH), value_of(DT_NEEDED), value_of(DT_SYMENT)})
      wrong.push_back(with(bytes, place, huge));
  }
  wrong.push_back(with(bytes, offsetof(Elf64_Ehdr, e_phnum), uint16_t{0}));
  wrong.push_back(with(bytes, offsetof(Elf64_Ehdr, e_phnum), uint16_t{0xFFFF}));
  wrong.push_back(with(bytes, offsetof(Elf64_Ehdr, e_phnum), uint16_t{0xFFFE}));
  wrong.push_back(with(bytes, offsetof(Elf64_Ehdr, e_phentsize), uint16_t{1}));
  wrong.push_back(with(bytes, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0xFFFF}));
  wrong.push_back(as_if_dynamic(offsetof(Elf64_Phdr, p_type), uint32_t{PT_NULL}));
  wrong.push_back(with(bytes, load + offsetof(Elf64_Phdr, p_type), uint32_t{PT_DYNAMIC}));
  wrong.push_back(as_if_dynamic(offsetof(Elf64_Phdr, p_filesz), uint64_t{sizeof(Elf64_Dyn)}));  // no DT_NULL
  wrong.push_back(with(bytes, find_dynamic(bytes, DT_STRTAB), int64_t{DT_DEBUG}));
  wrong.push_back(with(bytes, find_dynamic(bytes, DT_SYMTAB), int64_t{DT_DEBUG}));
  for (size_t i = 0; i < wrong.size(); ++i) {
    CAPTURE(i);
    CHECK(refusal_of_bytes(wrong[i]).find("; expected a whole shared library") != std::string::npos);
  }
}

TEST_CASE("an endless chain of the hash table is refused") {
  std::string bytes = read_bytes(fixture_directory("system_v_hash") / "system_v_hash.so");
  // The table is in the first segment, where addresses equal file offsets.
  const size_t table = get<Elf64_Dyn>(bytes, find_dynamic(bytes, DT_HASH)).d_un.d_ptr;
  const auto buckets = get<uint32_t>(bytes, table);
  const auto symbols = get<uint32_t>(bytes, table + 4);
  for (uint32_t i = 0; i < buckets; ++i) bytes = with<uint32_t>(bytes, table + 8 + 4 * i, 1);
  for (uint32_t i = 0; i < symbols; ++i) bytes = with<uint32_t>(bytes, table + 8 + 4 * (buckets + i), 1);
  const std::string message =
      message_of([&] { inspect_library(write_library(bytes), "no_such_function"); }, ErrorKind::plugin);
  CHECK(message.find("is damaged: a chain of its hash table has no end") != std::string::npos);
}

TEST_CASE("a library without section headers passes: the loader does not need them") {
  std::string bytes = read_bytes(sound_plugin());
  bytes = with(bytes, offsetof(Elf64_Ehdr, e_shoff), uint64_t{0});
  bytes = with(bytes, offsetof(Elf64_Ehdr, e_shnum), uint16_t{0});
  CHECK(refusal_of_bytes(bytes).empty());
}

TEST_CASE("any bytes give success or an error") {
  std::mt19937_64 random(20240607);
  const std::string bytes = read_bytes(sound_plugin());
  // Most of a file is code, which is not inspected. The tables are at its start and in the dynamic section.
  const auto dynamic = get<Elf64_Phdr>(bytes, find_segment(bytes, PT_DYNAMIC));
  const auto pick_place = [&](int round) -> size_t {
    if (round % 4 == 0) return random() % bytes.size();
    if (round % 4 == 1) return dynamic.p_offset + random() % dynamic.p_filesz;
    return random() % std::min<size_t>(bytes.size(), 4096);
  };
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    std::string changed = bytes;
    const uint64_t flips = 1 + random() % 4;
    for (uint64_t i = 0; i < flips; ++i) {
      char& flipped = changed[pick_place(round)];
      flipped = static_cast<char>(flipped ^ 1 << random() % 8);
    }
    if (round % 10 == 9) changed.resize(random() % changed.size());
    const std::string message = refusal_of_bytes(changed);
    CHECK(message.find("another kind of error") == std::string::npos);
    ++(message.empty() ? accepted : refused);
  }
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

TEST_CASE("anything but a regular file is refused, a pipe without waiting for its other end") {
  const fs::path folder = tenon::test_folder() / "not_files";
  fs::remove_all(folder);
  fs::create_directories(folder / "directory.so");
  REQUIRE(mkfifo((folder / "pipe.so").c_str(), 0600) == 0);
  CHECK(refusal_of(folder / "directory.so").find("directory.so: is a directory; expected") != std::string::npos);
  CHECK(refusal_of(folder / "pipe.so").find("pipe.so: is a pipe; expected") != std::string::npos);
  CHECK(refusal_of("/dev/null").find("/dev/null: is a device; expected") != std::string::npos);
  CHECK(refusal_of(folder / "absent.so").find("absent.so: cannot be read: No such file") != std::string::npos);
}

TEST_CASE("a file or directory that others can write is refused with the fix") {
  const fs::path file = write_library(read_bytes(sound_plugin()));
  REQUIRE(chmod(file.c_str(), 0646) == 0);
  CHECK(refusal_of(file) == file.string() +
                                ": is writable by others, mode 0646; expected that only you and root can write it: "
                                "chmod go-w " +
                                file.string());
  REQUIRE(chmod(file.c_str(), 0644) == 0);
  const std::string directory = file.parent_path().string();
  for (const mode_t mode : {0757, 01777}) {
    REQUIRE(chmod(directory.c_str(), mode) == 0);
    const std::string message = refusal_of(file);
    CAPTURE(message);
    CHECK(message.find(file.string() + ": its directory " + directory + " is writable by others, mode ") == 0);
    CHECK(message.find("chmod go-w " + directory) != std::string::npos);
  }
  REQUIRE(chmod(directory.c_str(), 0755) == 0);
  CHECK(refusal_of(file).empty());
}

TEST_CASE("root may load files of other users") {
  if (geteuid() != 0) {
    MESSAGE("only root can change the owner of a file; write_permission_test.cpp tests the rule");
    return;
  }
  const fs::path file = write_library(read_bytes(sound_plugin()));
  REQUIRE(chown(file.c_str(), 12345, 0) == 0);
  const std::string message = refusal_of(file);
  REQUIRE(chown(file.c_str(), 0, 0) == 0);
  CHECK(message.empty());
}

TEST_CASE("the libraries of LibTorch are identified by their names") {
  CHECK(tenon::components::find_libtorch(
            {"libc.so.6", "libtorch_cpu.so", "libstdc++.so.6", "/opt/x/libc10.so.1", "libmytorch.so", "libc10d.so"}) ==
        std::vector<std::string>{"libtorch_cpu.so", "/opt/x/libc10.so.1", "libc10d.so"});
}

}  // namespace inspect_library_test
