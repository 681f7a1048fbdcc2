// The members of a tar file: POSIX.1-1988 (ustar), POSIX.1-2001 (pax), GNU tar with long names, and the format of V7
// that they grew from; see "pax Interchange Format" and "ustar Interchange Format" in POSIX, and tar(5) of libarchive.
// Read strictly, since what a lenient reader passes over are samples that a model is then not trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/datasets/tar_shards/byte_source.h"

namespace tar_shards {

struct TarMember {
  std::string name;
  uint64_t header;   // where its header begins, the one that holds its size
  uint64_t content;  // where its bytes begin
  uint64_t size;
};

class TarReader {
 public:
  // Throws tenon::DataError naming the file if it is empty or compressed. `source` must outlive the reader.
  explicit TarReader(const ByteSource& source);

  const std::string& path() const { return source_.path(); }

  // The next regular file; none at the end. Directories are passed over. Throws tenon::DataError naming file, byte and
  // member: a header with a wrong checksum or numbers that are none, a member that reaches beyond the file's end, an
  // archive without an end or with something behind it, links, sparse files, devices, and extended headers that are
  // damaged or too long.
  std::optional<TarMember> next();

  // The first bytes of a member, `count` or as many as it has; until the next call of the reader.
  std::span<const uint8_t> peek(const TarMember& member, uint64_t count);

 private:
  // What extended headers say of the member behind them.
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
  uint64_t at_ = 0;              // of the next header
  std::vector<uint8_t> window_;  // of the file, from window_at_ on
  uint64_t window_at_ = 0;
};

// A name from a tar file as a message may show it: a control character becomes a question mark.
std::string printable(std::string_view name);

}  // namespace tar_shards
