#include "plugins/models/exported/archive.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/util/safe_numerics.h>
#include <torch/csrc/export/pt2_archive_constants.h>
#include <tenon/error.hpp>

#include "framework/formats/zip_directory.h"
#include "plugins/models/exported/schema.h"

namespace exported {
namespace {

namespace spec = torch::_export::archive_spec;

constexpr std::string_view kExpected = "a .pt2 archive of torch.export";

// A compressed record may have this many bytes even if the file has fewer.
constexpr uint64_t kMostExpanded = uint64_t{16} << 20;
// All records together may have this many, if they are compressed or overlap. LibTorch's reader decompresses one when
// it opens the file.
constexpr uint64_t kMostExpandedTotal = uint64_t{64} << 20;

void check_total(const formats::RegularFile& file) {
  uint64_t total = 0;
  formats::visit_zip_records(
      {file.size(), 0, [&](uint64_t offset, uint64_t count) { return file.read(offset, count); }},
      [&](const formats::ZipRecord& record) {
        if (c10::add_overflows(total, record.bytes, &total))
          throw std::invalid_argument("its directory is missing or damaged");
      });
  if (total > std::max(file.size(), kMostExpandedTotal))
    throw std::invalid_argument("its records have " + std::to_string(total) +
                                " bytes, more than the whole file; expected an archive that is not compressed");
}

// Reads through one open descriptor, so that every record is of the same file.
class FileBytes final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit FileBytes(formats::RegularFile file) : file_(std::move(file)) {}
  size_t size() const override { return file_.size(); }
  size_t read(uint64_t position, void* target, size_t count, const char*) const override {
    if (position >= file_.size()) return 0;
    count = std::min<uint64_t>(count, file_.size() - position);
    file_.read(position, {static_cast<uint8_t*>(target), count});
    return count;
  }

 private:
  formats::RegularFile file_;
};

// LibTorch's limit of dimensions is in the hundreds.
constexpr size_t kMostDimensions = 64;

std::vector<int64_t> read_extents(const Json& list) {
  std::vector<int64_t> extents;
  for (const Json& each : elements(list)) {
    const Tagged extent = tagged(each);
    if (extent.tag != "as_int") throw std::invalid_argument("found " + shorten(each) + "; expected a known size");
    extents.push_back(integer(extent.value));
    if (extents.back() < 0) throw std::invalid_argument("a size or stride is negative: " + shorten(list));
  }
  if (extents.size() > kMostDimensions) throw std::invalid_argument("has more than 64 dimensions");
  return extents;
}

struct Geometry {
  c10::ScalarType dtype;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  bool operator==(const Geometry&) const = default;
};

Geometry read_geometry(const Json& meta) {
  to_layout(integer(field(meta, "layout")));
  const Tagged offset = tagged(field(meta, "storage_offset"));
  Geometry geometry = {to_scalar_type(integer(field(meta, "dtype"))), read_extents(field(meta, "sizes")),
                       read_extents(field(meta, "strides")), integer(offset.value)};
  if (geometry.offset < 0 || offset.tag != "as_int")
    throw std::invalid_argument("the storage offset is " + shorten(offset.value) + "; expected 0 or more");
  if (geometry.sizes.size() != geometry.strides.size())
    throw std::invalid_argument("has " + std::to_string(geometry.sizes.size()) + " sizes and " +
                                std::to_string(geometry.strides.size()) + " strides; expected as many");
  return geometry;
}

// The number of elements from the start of the storage to the last element of the tensor.
uint64_t count_reach(const Geometry& geometry) {
  uint64_t reach = static_cast<uint64_t>(geometry.offset) + 1, span = 0;
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] == 0) return 0;
    if (c10::mul_overflows(static_cast<uint64_t>(geometry.sizes[i] - 1), static_cast<uint64_t>(geometry.strides[i]),
                           &span) ||
        c10::add_overflows(reach, span, &reach))
      throw std::invalid_argument("the sizes and strides exceed 64 bits");
  }
  return reach;
}

// An expanded tensor has more elements than its storage.
void check_count(const Geometry& geometry, uint64_t stored) {
  uint64_t count = 1;
  for (const int64_t size : geometry.sizes) {
    if (c10::mul_overflows(count, static_cast<uint64_t>(size), &count) || count > stored)
      throw std::invalid_argument("has more elements than the " + std::to_string(stored) + " of its record");
  }
}

// Reading any other byte as a C++ bool is undefined behaviour.
void check_booleans(const std::vector<char>& bytes) {
  const auto wrong = std::ranges::find_if(bytes, [](char byte) { return byte != 0 && byte != 1; });
  if (wrong == bytes.end()) return;
  throw std::invalid_argument("element " + std::to_string(wrong - bytes.begin()) + " of type BOOL is " +
                              std::to_string(static_cast<unsigned char>(*wrong)) + "; expected 0 or 1");
}

at::Tensor make_tensor(const Geometry& geometry, const std::vector<char>& bytes) {
  if (geometry.dtype == c10::kBool) check_booleans(bytes);
  const uint64_t stored = bytes.size() / c10::elementSize(geometry.dtype);
  const uint64_t reach = count_reach(geometry);
  if (reach > stored)
    throw std::invalid_argument("ends at element " + std::to_string(reach) + "; its record has " +
                                std::to_string(stored));
  if (reach > 0) check_count(geometry, stored);
  const at::Tensor storage = at::empty({static_cast<int64_t>(stored)}, geometry.dtype);
  if (stored > 0) std::memcpy(storage.data_ptr(), bytes.data(), stored * c10::elementSize(geometry.dtype));
  // A dense tensor keeps its strides, as do weights in channels-last order.
  return storage.as_strided(geometry.sizes, geometry.strides, geometry.offset).clone();
}

void check_record_name(const std::string& name) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  if (name.empty() || name.front() == '.' || !std::ranges::all_of(name, is_plain))
    throw std::invalid_argument("the record is " + shorten(Json(name)) + "; expected a name such as weight_0");
}

// A tensor of the configuration. Names that share a record share the tensor, which must be the whole of both.
class Reader {
 public:
  Reader(Archive& archive, std::string prefix) : archive_(archive), prefix_(std::move(prefix)) {}

  StoredTensor read(const std::string& name, const Json& entry) {
    const std::string& record = text(field(entry, "path_name"));
    check_record_name(record);
    if (boolean(field(entry, "use_pickle")))
      throw std::invalid_argument("is pickled, which is never read; expected a plain tensor");
    const Json& meta = field(entry, "tensor_meta");
    const Geometry geometry = read_geometry(meta);
    const bool requires_grad = boolean(field(meta, "requires_grad"));
    const bool is_parameter = boolean(field(entry, "is_param"));
    const bool is_trained = is_parameter && requires_grad && c10::isFloatingType(geometry.dtype);
    const auto earlier = earlier_.find(record);
    if (earlier != earlier_.end()) {
      if (earlier->second.geometry != geometry)
        throw std::invalid_argument("shares the record " + record + " with " + earlier->second.name +
                                    " but has other sizes or another dtype");
      return {record, earlier->second.tensor, is_trained, is_parameter};
    }
    const at::Tensor tensor = make_tensor(geometry, archive_.read(prefix_ + record));
    earlier_.emplace(record, Earlier{name, geometry, tensor});
    return {record, tensor, is_trained, is_parameter};
  }

 private:
  struct Earlier {
    std::string name;
    Geometry geometry;
    at::Tensor tensor;
  };

  Archive& archive_;
  const std::string prefix_;
  std::map<std::string, Earlier> earlier_;  // by the record
};

}  // namespace

Archive::Archive(const std::string& path) : path_(path) {
  formats::RegularFile file(path, kExpected);
  file.check_size(UINT64_MAX);
  bytes_ = file.size();
  std::vector<std::string> records;
  try {
    check_total(file);
    reader_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(std::make_shared<FileBytes>(std::move(file)));
    records = reader_->getAllRecords();
  } catch (const c10::Error& error) {
    throw tenon::DataError(path_ + ": is not " + std::string(kExpected) + ": " + error.what_without_backtrace());
  } catch (const std::invalid_argument& error) {
    throw tenon::DataError(path_ + ": is not " + std::string(kExpected) + ": " + error.what());
  }
  check_value(std::string(spec::ARCHIVE_FORMAT_PATH), spec::ARCHIVE_FORMAT_VALUE, "the format");
  check_value(std::string(spec::ARCHIVE_VERSION_PATH), spec::ARCHIVE_VERSION_VALUE, "the version of the archive");
  check_value("byteorder", "little", "the byte order");
  const std::string folder(spec::MODELS_DIR), suffix = ".json";
  for (const std::string& record : records) {
    if (record.size() > folder.size() + suffix.size() && record.starts_with(folder) && record.ends_with(suffix))
      models_.push_back(record.substr(folder.size(), record.size() - folder.size() - suffix.size()));
  }
  std::ranges::sort(models_);
}

std::vector<std::string> Archive::list(const std::string& prefix) const {
  std::vector<std::string> found;
  for (const std::string& record : reader_->getAllRecords())
    if (record.starts_with(prefix)) found.push_back(record);
  std::ranges::sort(found);
  return found;
}

std::vector<char> Archive::read(const std::string& record) {
  try {
    if (!reader_->hasRecord(record)) throw tenon::DataError(path_ + ": has no record " + record);
    const size_t size = reader_->getRecordSize(record);
    // torch.export does not compress records. A small compressed file must not fill the memory.
    if (size > std::max(bytes_, kMostExpanded))
      refuse(record, "has " + std::to_string(size) + " bytes, more than the whole file; expected an archive that is " +
                         "not compressed");
    std::vector<char> bytes(size);
    if (reader_->getRecord(record, bytes.data(), size) != size) refuse(record, "is cut short");
    return bytes;
  } catch (const c10::Error& error) {
    refuse(record, error.what_without_backtrace());
  }
}

Json Archive::read_json(const std::string& record) {
  const std::vector<char> bytes = read(record);
  return within(*this, record, [&] { return parse_json({bytes.data(), bytes.size()}); });
}

void Archive::refuse(const std::string& record, const std::string& problem) const {
  throw tenon::DataError(path_ + ", " + record + ": " + problem);
}

void Archive::check_value(const std::string& record, std::string_view expected, const std::string& meaning) {
  const std::vector<char> bytes = read(record);
  const std::string found(bytes.begin(), bytes.end());
  if (found != expected)
    refuse(record, meaning + " is " + shorten(Json(found)) + "; expected \"" + std::string(expected) + "\"");
}

StoredTensors read_tensors(Archive& archive, const std::string& config, const std::string& prefix) {
  const Json list = archive.read_json(config);
  Reader reader(archive, prefix);
  StoredTensors tensors;
  std::string name;
  try {
    const Json& entries = field(list, "config");
    if (!entries.is_object()) throw std::invalid_argument("config is not an object");
    for (const auto& entry : entries.items()) {
      name = entry.key();
      tensors.emplace(name, reader.read(name, entry.value()));
    }
  } catch (const std::invalid_argument& error) {
    archive.refuse(config, (name.empty() ? "" : "tensor " + shorten(Json(name)) + ": ") + error.what());
  }
  return tensors;
}

}  // namespace exported
