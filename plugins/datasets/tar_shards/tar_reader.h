// Reads the members of a tar file: POSIX.1-1988 (ustar), POSIX.1-2001 (pax), GNU tar with long names, and the older V7
// format. See "pax Interchange Format" and "ustar Interchange Format" in POSIX, and tar(5) of libarchive. Reading is
// strict, because members that a lenient reader skips would be missing from training.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tar_shards {

// Random access to bytes by offset.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& path() const = 0;  // for messages
  virtual uint64_t size() const = 0;
  // Fills `bytes`. Throws tenon::DataError naming path and offset if the read fails. REQUIRES: the range is within
  // size().
  virtual void read(uint64_t offset, std::span<uint8_t> bytes) const = 0;
};

struct TarMember {
  std::string name;
  uint64_t header;   // offset of the header that holds its size
  uint64_t content;  // offset of its bytes
  uint64_t size;
};

class TarReader {
 public:
  // Throws tenon::DataError naming the file if it is empty or compressed. `source` must outlive the reader.
  explicit TarReader(const ByteSource& source);

  const std::string& path() const { return source_.path(); }

  // Returns the next regular file, or no value at the end. Folders are skipped. Throws tenon::DataError naming file,
  // byte and member: a header with a wrong checksum or invalid numbers, a member that extends beyond the file's end, an
  // archive without an end or with data after it, links, sparse files, devices, or extended headers that are damaged or
  // too long.
  std::optional<TarMember> next();

  // Returns the first bytes of a member: `count`, or fewer if it is smaller. They are valid until the reader's next
  // call.
  std::span<const uint8_t> peek(const TarMember& member, uint64_t count);

 private:
  // Values from extended headers for the member that follows.
  struct Extension {
    std::optional<std::string> name;
    std::optional<uint64_t> size;
    bool is_there = false;
  };
  struct Header;

  std::span<const uint8_t> at(uint64_t offset, uint64_t count);
  Header read_header();
  void check_within_file(const Header& header) const;
  bool is_file(const Header& header) const;
  void extend(const Header& header, Extension& extension);
  void read_pax_records(const Header& header, Extension& extension);
  void check_end();
  [[noreturn]] void refuse(uint64_t offset, const std::string& what) const;

  const ByteSource& source_;
  uint64_t at_ = 0;              // offset of the next header
  std::vector<uint8_t> window_;  // bytes of the file from window_at_ on
  uint64_t window_at_ = 0;
};

// Returns a name from a tar file for use in a message. Control characters become question marks.
std::string printable(std::string_view name);

}  // namespace tar_shards
