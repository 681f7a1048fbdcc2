// Headers of up to 100 MB, which the format allows, must not use a multiple of that memory.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <new>
#include <string>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/formats/safetensors_header.h"
#include "framework/support/diagnostics/sanitizers.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

void write_header(const std::filesystem::path& file, const std::string& header) {
  const auto length = std::bit_cast<std::array<char, 8>>(uint64_t{header.size()});
  write_all(file, std::string(length.data(), length.size()) + header);
}

// Returns `opening` followed by many members. The last one is truncated.
std::string fill(const std::string& opening, const std::string& member_end, size_t bytes) {
  std::string header = opening;
  header.reserve(bytes + 100);
  for (size_t i = 0; header.size() < bytes; ++i) header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + member_end;
  header.resize(bytes);
  return header;
}

constexpr int kWrongMessage = 1, kOutOfMemory = 2;

// Reads the file in a process with this limit of private memory, in addition to the pages of the file. Returns 0 if the
// file was refused with this message.
int read_within(const std::filesystem::path& file, [[maybe_unused]] rlim_t bytes, const std::string& message) {
  const pid_t child = ::fork();
  if (child == 0) {
#if !TENON_IS_SANITIZED
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
#endif
    int result = kWrongMessage;
    try {
      const SafetensorsFile reader(file);
    } catch (const support::Error& error) {
      if (contains(error.what(), message)) result = 0;
    } catch (const std::bad_alloc&) {
      result = kOutOfMemory;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr rlim_t kBound = 256 << 20;

}  // namespace

TEST_CASE("a header of 100 MB with one name, one value, one number or blanks is refused in bounded memory") {
  const Scratch scratch;
  const auto check = [&](const std::string& opening, char filling, const std::string& ending,
                         const std::string& message) {
    std::string header(formats::kLargestSafetensorsHeader, filling);
    header.replace(0, opening.size(), opening);
    header.replace(header.size() - ending.size(), ending.size(), ending);
    write_header(scratch / "a", header);
    CAPTURE(message);
    CHECK(read_within(scratch / "a", kBound, message) == 0);
  };
  check("{\"", 'w', "\":{}}", "a text of more than 16777216 bytes, at byte 3");
  check("{\"__metadata__\":{\"a\":\"", 'w', "", "a text of more than 16777216 bytes, at byte 23");
  check("{\"w\":{\"shape\":[", '9', "", "a number of more than 4096 bytes, at byte 16");
  check("{\"w\":", ' ', "7}", "blanks of more than 16777216 bytes, at byte 6");
  check("{\"__metadata__\":{\"a\":\"\\", '\\', "", "a text of more than 16777216 bytes, at byte ");
}

TEST_CASE("the longest accepted texts use little memory") {
  const Scratch scratch;
  const std::string longest(formats::kMaxMetadataTextLength, 'w');
  write_header(scratch / "a", "{\"" + longest);
  CHECK(read_within(scratch / "a", kBound, "is not JSON, at byte") == 0);
  write_header(scratch / "a", "{\"" + longest + "\":{}}");
  CHECK(read_within(scratch / "a", kBound, "has 16777216 bytes; expected at most 1048576") == 0);
  write_header(scratch / "a", "{\"__metadata__\":{\"a\":\"" + longest + "\"}}");
  const SafetensorsFile file(scratch / "a");
  CHECK(file.metadata().at("a") == longest);
}

TEST_CASE("a header of millions of small members is refused in bounded memory") {
  const Scratch scratch;
  write_header(scratch / "a", fill("{", R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", 20'000'000));
  CHECK(read_within(scratch / "a", kBound, "the header has more than 262144 tensors") == 0);
  write_header(scratch / "a", fill(R"({"__metadata__":{)", R"(":"")", 20'000'000));
  CHECK(read_within(scratch / "a", kBound, "__metadata__ has more than 262144 members") == 0);
  write_header(scratch / "a", "{\"w\":" + std::string(20'000'000, '['));
  CHECK(read_within(scratch / "a", kBound, "tensor \"w\" is a list") == 0);
}

}  // namespace tenon::artifacts
