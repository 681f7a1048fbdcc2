#include "plugins/datasets/arrays/array_files.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include <tenon/plugin.h>
#include <tenon/error.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/safetensors_header.h"
#include "framework/formats/stored_types.h"
#include "framework/formats/strings.h"
#include "plugins/datasets/shared/check_fields.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/npy.h"

namespace arrays {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are copied from little-endian files without conversion");

namespace fs = std::filesystem;

// An archive of numpy.savez has one .npy file for each array, compressed or not.
[[noreturn]] void refuse_archive(const std::string& path, bool is_numpy) {
  throw tenon::DataError(
      path + (is_numpy
                  ? ": is an archive of NumPy (.npz); expected a .npy file for each array: unpack it with unzip, or "
                    "load it with numpy.load and save each array with numpy.save"
                  : ": is a zip archive; expected .npy or safetensors files"));
}

std::vector<std::string> list_npy_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::string archive;
  datasets::visit_folder(folder, "a folder of .npy files", [&](const fs::directory_entry& entry) {
    const bool is_hidden = entry.path().filename().native().front() == '.';
    if (!is_hidden && entry.path().extension() == ".npy") files.push_back(entry.path().native());
    if (!is_hidden && entry.path().extension() == ".npz") archive = entry.path().native();
  });
  std::sort(files.begin(), files.end());
  if (files.empty() && !archive.empty()) refuse_archive(archive, true);
  if (files.empty()) throw tenon::DataError(folder.native() + ": holds no .npy file; expected one for each field");
  return files;
}

std::vector<std::string> list_files(const std::string& path) {
  return datasets::is_folder(path) ? list_npy_files(path) : std::vector<std::string>{path};
}

Array read_npy(const formats::RegularFile& file, const std::vector<uint8_t>& start) {
  const std::string& path = file.path();
  const uint64_t offset = datasets::npy_data_offset(start, file.size(), path);
  datasets::NpyHeader header = datasets::read_npy_header(file.read(0, offset), file.size(), path);
  return {fs::path(path).stem().native(), header.dtype, std::move(header.shape), offset, file.size() - offset, path};
}

// Returns the tensors of a safetensors file (github.com/huggingface/safetensors), sorted by name. Throws
// tenon::DataError naming the file and the tensor if the file violates the format.
std::vector<Array> read_safetensors(const formats::RegularFile& file) {
  constexpr uint64_t kLength = 8;
  const std::string& path = file.path();
  uint64_t length = UINT64_MAX;
  if (file.size() >= kLength) {
    const std::vector<uint8_t> digits = file.read(0, kLength);
    for (size_t i = kLength; i > 0; --i) length = length << 8 | digits[i - 1];
  }
  if (file.size() < kLength || length > file.size() - kLength || length > formats::kLargestSafetensorsHeader) {
    throw tenon::DataError(path + ": is neither a .npy file nor a complete safetensors file; expected one of the two");
  }
  const uint64_t data = kLength + length;
  const std::vector<uint8_t> text = file.read(kLength, length);
  formats::SafetensorsHeader header;
  try {
    header = formats::parse_safetensors_header({reinterpret_cast<const char*>(text.data()), text.size()},
                                               file.size() - data);
  } catch (const std::invalid_argument& error) {
    throw tenon::DataError(path + ": " + error.what() + "; save the file again");
  }
  if (header.tensors.empty()) throw tenon::DataError(path + ": holds no tensor");
  std::ranges::sort(header.tensors, {}, &formats::SafetensorsEntry::name);
  std::vector<Array> arrays;
  for (const formats::SafetensorsEntry& entry : header.tensors)
    arrays.push_back({entry.name, entry.dtype, entry.shape, data + entry.begin, entry.end - entry.begin,
                      path + ": tensor " + formats::quote_name(entry.name)});
  return arrays;
}

// Reads the headers of one file: an array, or several of a safetensors file.
std::vector<Array> read_arrays(const formats::RegularFile& file) {
  file.check_size(UINT64_MAX);
  const std::vector<uint8_t> start = file.read(0, std::min(file.size(), datasets::kNpyStart));
  const fs::path extension = fs::path(file.path()).extension();
  const bool is_npz = extension == ".npz";
  constexpr std::array<uint8_t, 4> kZip = {'P', 'K', 3, 4};
  if (is_npz ||
      (extension != ".npy" && start.size() >= kZip.size() && std::equal(kZip.begin(), kZip.end(), start.begin())))
    refuse_archive(file.path(), is_npz);
  if (datasets::is_npy(start) || extension == ".npy") return {read_npy(file, start)};
  return read_safetensors(file);
}

// Returns the arrays that `names` lists, in that order, or all of them if `names` is empty.
std::vector<Array> select(std::vector<Array> arrays, const std::vector<std::string>& names, const std::string& path) {
  if (names.empty()) return arrays;
  std::vector<Array> selected;
  for (const std::string& name : names) {
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const Array& a) { return a.name == name; });
    if (found == arrays.end()) {
      std::string known;
      for (const Array& array : arrays) known += (known.empty() ? "\"" : ", \"") + array.name + '"';
      throw tenon::DataError(path + ": holds no array \"" + name +
                             "\", which the parameter \"fields\" names; available: " + known);
    }
    selected.push_back(*found);
  }
  return selected;
}

void check_samples(const Array& array, const Array& first) {
  if (array.shape.empty()) throw tenon::DataError(array.place + ": is a single number; expected a row for each sample");
  datasets::check_dimensions(array.shape.size(), array.place);
  if (array.shape.front() == 0) throw tenon::DataError(array.place + ": holds no sample; expected one or more");
  if (array.shape.front() != first.shape.front()) {
    throw tenon::DataError(array.place + ": holds " + std::to_string(array.shape.front()) + " samples; expected " +
                           std::to_string(first.shape.front()) + ", as " + first.place +
                           " has; list the arrays that belong together in the parameter \"fields\"");
  }
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end()) {
    throw tenon::DataError(array.place + ": has the shape (" + formats::join(array.shape) +
                           "), so its rows hold no element; list the other arrays in the parameter \"fields\"");
  }
}

void check_arrays(const std::vector<Array>& arrays, const std::string& path) {
  std::vector<std::string> names;
  for (const Array& array : arrays) names.push_back(array.name);
  datasets::check_fields(names, path, "arrays", "list some of them in the parameter \"fields\"");
  std::set<std::string> known;
  for (const Array& array : arrays) {
    if (!known.insert(array.name).second) {
      throw tenon::DataError(path + ": the parameter \"fields\" names \"" + array.name +
                             "\" twice; expected each array once");
    }
    check_samples(array, arrays.front());
  }
}

// An array of this size stays in memory: each read of a file costs a system call, which is most of the time for a
// label.
constexpr uint64_t kMostInMemory = uint64_t{16} << 20;  // bytes

}  // namespace

ArrayFiles::ArrayFiles(const std::string& path, const std::vector<std::string>& names) {
  std::vector<Array> found;
  for (const std::string& file : list_files(path)) {
    files_.emplace_back(file, "a .npy or safetensors file");
    for (Array& array : read_arrays(files_.back())) {
      array.file = files_.size() - 1;
      found.push_back(std::move(array));
    }
  }
  arrays_ = select(std::move(found), names, path);
  check_arrays(arrays_, path);
  for (const Array& array : arrays_) {
    const bool fits = array.bytes <= kMostInMemory;
    elements_.push_back(fits ? files_[array.file].read(array.offset, array.bytes) : std::vector<uint8_t>());
  }
}

void ArrayFiles::read_row(size_t array, int64_t row, uint8_t* bytes) const {
  const Array& from = arrays_[array];
  const uint64_t count = row_bytes(array);
  const uint64_t offset = static_cast<uint64_t>(row) * count;
  if (elements_[array].empty()) {
    files_[from.file].read(from.offset + offset, {bytes, count});
  } else {
    std::memcpy(bytes, elements_[array].data() + offset, count);
  }
  // A bool has no other byte values than 0 and 1.
  if (from.dtype == TENON_BOOL) std::transform(bytes, bytes + count, bytes, [](uint8_t truth) { return truth != 0; });
}

uint64_t ArrayFiles::hash() const {
  formats::ContentHash hash;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (elements_[i].empty())
      hash.add(files_[arrays_[i].file], arrays_[i].offset, arrays_[i].bytes);
    else
      hash.add_elements(std::span<const uint8_t>(elements_[i]));
  }
  return hash.value();
}

}  // namespace arrays
