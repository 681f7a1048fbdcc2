// Existing arrays from NumPy or safetensors files. Sample i is row i of each array.
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/arrays/array.h"
#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/npy.h"
#include "plugins/regular_file.h"

namespace arrays {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are copied from little-endian files without conversion");

namespace fs = std::filesystem;

std::vector<std::string> list_npy_files(const fs::path& folder) {
  std::vector<std::string> files;
  datasets::visit_folder(folder, "a folder of .npy files", [&](const fs::directory_entry& entry) {
    const bool is_hidden = entry.path().filename().native().front() == '.';
    if (!is_hidden && entry.path().extension() == ".npy") files.push_back(entry.path().native());
  });
  std::sort(files.begin(), files.end());
  if (files.empty()) throw tenon::DataError(folder.native() + ": holds no .npy file; expected one for each field");
  return files;
}

std::vector<std::string> list_files(const std::string& path) {
  return datasets::is_folder(path) ? list_npy_files(path) : std::vector<std::string>{path};
}

Array read_npy(const plugins::RegularFile& file, const std::vector<uint8_t>& start) {
  const std::string& path = file.path();
  const uint64_t offset = datasets::npy_data_offset(start, file.size(), path);
  datasets::NpyHeader header = datasets::read_npy_header(file.read(0, offset), file.size(), path);
  return {fs::path(path).stem().native(), header.dtype, std::move(header.shape), offset, file.size() - offset, path};
}

// Reads the headers of one file: an array, or several of a safetensors file.
std::vector<Array> read_arrays(const plugins::RegularFile& file) {
  file.check_size(UINT64_MAX);
  const std::vector<uint8_t> start = file.read(0, std::min(file.size(), datasets::kNpyStart));
  if (datasets::is_npy(start) || fs::path(file.path()).extension() == ".npy") return {read_npy(file, start)};
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

void check_samples(const std::vector<Array>& arrays) {
  for (const Array& array : arrays) {
    if (array.shape.empty())
      throw tenon::DataError(array.place + ": is a single number; expected a row for each sample");
    if (array.shape.front() == 0) throw tenon::DataError(array.place + ": holds no sample; expected one or more");
    if (array.shape.front() != arrays.front().shape.front()) {
      throw tenon::DataError(array.place + ": holds " + std::to_string(array.shape.front()) + " samples; expected " +
                             std::to_string(arrays.front().shape.front()) + ", as " + arrays.front().place +
                             " has; list the arrays that belong together in the parameter \"fields\"");
    }
  }
}

// An array of this size stays in memory: each read of a file costs a system call, which is most of the time for a
// label.
constexpr uint64_t kMostInMemory = uint64_t{16} << 20;  // bytes

class Arrays final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<tenon::Path>("path").doc(
                "safetensors file, .npy file, or folder of .npy files. Each field has the name of its tensor or file"),
            tenon::param("fields", std::vector<std::string>{})
                .doc("arrays that become fields, in this order; empty: all. They must have the same first dimension, "
                     "the number of samples")};
  }

  explicit Arrays(const tenon::Params& params) {
    const std::string path = params.path("path");
    std::vector<Array> found;
    for (const std::string& file : list_files(path)) {
      files_.emplace_back(file, "a .npy or safetensors file");
      for (Array& array : read_arrays(files_.back())) {
        array.file = files_.size() - 1;
        found.push_back(std::move(array));
      }
    }
    arrays_ = select(std::move(found), params.texts("fields"), path);
    check_samples(arrays_);
    for (const Array& array : arrays_) {
      const bool fits = array.bytes <= kMostInMemory;
      elements_.push_back(fits ? files_[array.file].read(array.offset, array.bytes) : std::vector<uint8_t>());
    }
  }

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields;
    for (const Array& array : arrays_) {
      fields.push_back(
          {array.name, array.dtype, {array.shape.begin() + 1, array.shape.end()}, "as stored in the file"});
    }
    return fields;
  }

  int64_t size() const { return arrays_.front().shape.front(); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    for (size_t field = 0; field < arrays_.size(); ++field) {
      const Array& array = arrays_[field];
      const uint64_t bytes = array.bytes / static_cast<uint64_t>(size());
      auto* slot = static_cast<uint8_t*>(sink.raw_slot(field));
      const uint64_t offset = static_cast<uint64_t>(sample.index) * bytes;
      if (elements_[field].empty()) {
        files_[array.file].read(array.offset + offset, {slot, bytes});
      } else {
        std::memcpy(slot, elements_[field].data() + offset, bytes);
      }
      // A bool has no other byte values than 0 and 1.
      if (array.dtype == TENON_BOOL) std::transform(slot, slot + bytes, slot, [](uint8_t truth) { return truth != 0; });
    }
  }

 private:
  std::vector<plugins::RegularFile> files_;
  std::vector<Array> arrays_;
  std::vector<std::vector<uint8_t>> elements_;  // of the arrays that stay in memory; empty for the others
};

}  // namespace
}  // namespace arrays

TENON_PLUGIN("arrays", "0.1.0", "Apache-2.0", "Arrays of NumPy and safetensors files.",
             tenon::dataset<arrays::Arrays>("arrays", "arrays in .npy or safetensors files, one sample per row"))
