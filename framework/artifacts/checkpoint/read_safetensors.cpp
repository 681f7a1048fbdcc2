#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tenon/abi.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/file_error.h"
#include "framework/formats/safetensors_header.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as the file holds them: little-endian");

namespace {

[[noreturn]] void refuse_file(const std::filesystem::path& file, const std::string& message) {
  throw support::Error(support::ErrorKind::checkpoint, file.string() + ": " + message);
}

// Reading any other byte as a C++ bool is undefined behaviour.
void check_booleans(const TensorView& tensor, const std::filesystem::path& file) {
  const auto* end = tensor.data + tensor.bytes;
  const auto* wrong = std::find_if(tensor.data, end, [](std::byte value) { return value > std::byte{1}; });
  if (wrong == end) return;
  refuse_file(file, "tensor " + quote_name(tensor.name) + ": element " + std::to_string(wrong - tensor.data) +
                        " of type BOOL is " + std::to_string(std::to_integer<int>(*wrong)) + "; expected 0 or 1");
}

}  // namespace

void SafetensorsFile::Unmap::operator()(const std::byte* start) const {
  ::munmap(const_cast<std::byte*>(start), bytes);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file) {
  constexpr auto kKind = support::ErrorKind::checkpoint;
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  const support::FileDescriptor descriptor(
      support::retry_interrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!descriptor.is_open()) throw make_file_error(kKind, file, "cannot be opened", errno);
  struct stat status;
  if (::fstat(descriptor.number(), &status) != 0) throw make_file_error(kKind, file, "cannot be read", errno);
  if (!S_ISREG(status.st_mode)) refuse_file(file, "is not a file; expected a safetensors file");
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes) {
    refuse_file(file, "has " + std::to_string(file_bytes) + " bytes; a safetensors file has at least 8");
  }
  void* start = ::mmap(nullptr, file_bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (start == MAP_FAILED) throw make_file_error(kKind, file, "cannot be mapped into memory", errno);
  mapping_ = {static_cast<const std::byte*>(start), Unmap{file_bytes}};

  std::memcpy(&header_bytes, mapping_.get(), sizeof header_bytes);
  const uint64_t rest = file_bytes - sizeof header_bytes;
  if (header_bytes > formats::kLargestSafetensorsHeader) {
    refuse_file(file, "the header's length is " + std::to_string(header_bytes) + " bytes; expected at most " +
                          std::to_string(formats::kLargestSafetensorsHeader) + "; is this a safetensors file?");
  }
  if (header_bytes > rest) {
    refuse_file(file, "the header's length is " + std::to_string(header_bytes) + " bytes; the file has only " +
                          std::to_string(rest) + " after it: it was truncated, or is not a safetensors file");
  }
  const std::byte* data = mapping_.get() + sizeof header_bytes + header_bytes;
  const std::string_view text(reinterpret_cast<const char*>(mapping_.get()) + sizeof header_bytes, header_bytes);
  formats::SafetensorsHeader header;
  try {
    header = formats::parse_safetensors_header(text, rest - header_bytes);
  } catch (const std::invalid_argument& error) {
    refuse_file(file, error.what());
  }
  for (auto& entry : header.tensors) {
    places_[entry.name] = tensors_.size();
    tensors_.push_back(
        {std::move(entry.name), entry.dtype, std::move(entry.shape), data + entry.begin, entry.end - entry.begin});
    if (entry.dtype == TENON_BOOL) check_booleans(tensors_.back(), file);
  }
  metadata_ = std::move(header.metadata);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &tensors_[place->second];
}

}  // namespace tenon::artifacts
