// Opens and reads regular files. A FIFO would block its reader, and a device may have no end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

// A regular file that many threads read.
class RegularFile {
 public:
  enum class Keep { open, closed };

  // Keep::closed opens the file for each read. It is for more files than the process's limit of open files allows.
  // `expected` is for messages: "a tar file". Throws tenon::DataError naming the path if the file cannot be opened, or
  // is not a regular file. Never waits for the other end of a FIFO.
  RegularFile(std::string path, std::string_view expected, Keep keep = Keep::open);
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // in bytes, when the file was opened

  // Fills `bytes` with the file's bytes from `offset` on. Uses pread; any thread may call it. Throws tenon::DataError
  // naming the path if reading fails, or if the file ends within this range, because it was shortened.
  void read(uint64_t offset, std::span<uint8_t> bytes) const;
  std::vector<uint8_t> read(uint64_t offset, uint64_t count) const;

  // Throws tenon::DataError unless the file has at least one byte and at most `most`.
  void check_size(uint64_t most) const;

 private:
  std::string path_;
  std::string expected_;
  int descriptor_;  // -1: closed
  uint64_t size_;
};

// Reads a whole file into reusable memory. Throws tenon::DataError naming the path, like RegularFile, and also if the
// file is empty, or larger than `most` bytes or the memory of the machine.
void read_whole(const std::string& path, std::string_view expected, std::vector<uint8_t>& bytes,
                uint64_t most = UINT64_MAX);
std::string read_whole(const std::string& path, std::string_view expected, uint64_t most = UINT64_MAX);

// `PATH, SIZE bytes, changed at SECONDS.NANOSECONDS`. Throws tenon::DataError naming the path.
std::string identify_file(const std::string& path);

}  // namespace formats
