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
#include "plugins/datasets/shared/mapped_file.h"
#include "plugins/datasets/shared/npy.h"

namespace arrays {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are copied from little-endian files without conversion");

namespace fs = std::filesystem;

std::vector<std::string> list_npy_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const bool is_hidden = entry.path().filename().native().front() == '.';
    if (!is_hidden && entry.path().extension() == ".npy") files.push_back(entry.path().native());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw tenon::DataError(folder.native() + ": holds no .npy file; expected one for each field");
  return files;
}

std::vector<std::string> list_files(const std::string& path) {
  try {
    return fs::is_directory(path) ? list_npy_files(path) : std::vector<std::string>{path};
  } catch (const fs::filesystem_error& error) {
    throw tenon::DataError(path + ": cannot be listed: " + error.code().message());
  }
}

Array read_npy(Bytes file, const std::string& path) {
  datasets::NpyHeader header = datasets::read_npy_header(file, file.size(), path);
  return {fs::path(path).stem().native(), header.dtype, std::move(header.shape), file.subspan(header.data_offset),
          path};
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
      files_.emplace_back(file);
      const Bytes bytes = files_.back().bytes();
      if (datasets::is_npy(bytes) || fs::path(file).extension() == ".npy") {
        found.push_back(read_npy(bytes, file));
      } else {
        found = read_safetensors(bytes, file);
      }
    }
    arrays_ = select(std::move(found), params.texts("fields"), path);
    check_samples(arrays_);
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
      const size_t bytes = array.bytes.size() / static_cast<size_t>(size());
      const uint8_t* row = array.bytes.data() + static_cast<size_t>(sample.index) * bytes;
      void* slot = sink.raw_slot(field);
      if (array.dtype == TENON_BOOL) {
        // A bool has no other byte values than 0 and 1.
        std::transform(row, row + bytes, static_cast<uint8_t*>(slot), [](uint8_t truth) { return truth != 0; });
      } else {
        std::memcpy(slot, row, bytes);
      }
    }
  }

 private:
  std::vector<datasets::MappedFile> files_;
  std::vector<Array> arrays_;
};

}  // namespace
}  // namespace arrays

TENON_PLUGIN("arrays", "0.1.0", "Apache-2.0", "Arrays of NumPy and safetensors files, mapped into memory.",
             tenon::dataset<arrays::Arrays>("arrays", "arrays in .npy or safetensors files, one sample per row"))
