#include "plugins/models/exported/archive.h"

#include <torch/csrc/export/pt2_archive_constants.h>

#include <algorithm>
#include <stdexcept>

#include <tenon/error.hpp>

#include "plugins/models/exported/zip_directory.h"

namespace exported {
namespace {

namespace spec = torch::_export::archive_spec;

constexpr std::string_view kExpected = "a .pt2 archive of torch.export";

// A compressed record may have this many bytes even if the file has fewer.
constexpr uint64_t kMostExpanded = uint64_t{16} << 20;
// All records together may have this many, if they are compressed or overlap. LibTorch's reader decompresses one when
// it opens the file.
constexpr uint64_t kMostExpandedTotal = uint64_t{64} << 20;

void check_total(const components::RegularFile& file) {
  const uint64_t total = count_record_bytes(file);
  if (total > std::max(file.size(), kMostExpandedTotal))
    throw std::invalid_argument("its records have " + std::to_string(total) +
                                " bytes, more than the whole file; expected an archive that is not compressed");
}

// Reads through one open descriptor, so that every record is of the same file.
class FileBytes final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit FileBytes(components::RegularFile file) : file_(std::move(file)) {}
  size_t size() const override { return file_.size(); }
  size_t read(uint64_t position, void* target, size_t count, const char*) const override {
    if (position >= file_.size()) return 0;
    count = std::min<uint64_t>(count, file_.size() - position);
    file_.read(position, {static_cast<uint8_t*>(target), count});
    return count;
  }

 private:
  components::RegularFile file_;
};

}  // namespace

Archive::Archive(const std::string& path) : path_(path) {
  components::RegularFile file(path, kExpected);
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
  try {
    return parse_json({bytes.data(), bytes.size()});
  } catch (const std::invalid_argument& error) {
    refuse(record, error.what());
  }
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

}  // namespace exported
