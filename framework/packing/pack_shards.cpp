#include "framework/packing/pack_shards.h"

#include <tenon/abi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/data/loader.h"
#include "framework/packing/shard_files.h"
#include "framework/support/compute/aligned_buffer.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::packing {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

// Samples in flight, enough for several workers with large samples.
constexpr int64_t kPrefetch = 32;

// Readers of WebDataset skip members of this form.
constexpr const char* kClassNamesMember = "__class_names__";

void check_folder(const fs::path& folder) {
  std::error_code error;
  const bool is_there = fs::exists(folder, error);
  const bool is_free = !error && (!is_there || (fs::is_directory(folder, error) && fs::is_empty(folder, error)));
  if (error) throw Error(ErrorKind::configuration, "{}: cannot be examined: {}", folder.string(), error.message());
  if (!is_free)
    throw Error(ErrorKind::configuration,
                "{}: already exists and is not an empty folder; shards of different runs must not mix: remove it, or "
                "choose another folder",
                folder.string());
}

// Encodes the samples of a dataset as files of a shard, on the worker that reads them.
class EncodingWorker final : public data::SampleSource::Worker {
 public:
  EncodingWorker(const std::vector<data::Field>& fields, const std::vector<FieldFile>& files,
                 const std::string& dataset, std::unique_ptr<Worker> reader)
      : source_(fields), files_(files), dataset_(dataset), reader_(std::move(reader)) {
    for (const data::Field& field : source_) {
      fixed_.emplace_back();
      varying_.emplace_back();
      slots_.push_back(field.is_varying() ? data::SampleSlot{nullptr, &varying_.back()}
                                          : data::SampleSlot{fixed_.back().reserve(field.sample_bytes), nullptr});
    }
  }

  void get(const data::SampleRequest& request, std::span<const data::SampleSlot> slots) override {
    reader_->get(request, slots_);
    for (size_t i = 0; i < slots.size(); ++i) {
      encode_field(i, request.index);
      const int64_t size = static_cast<int64_t>(bytes_.size());
      std::byte* memory = slots[i].varying->resize({&size, 1}, bytes_.size());
      std::memcpy(memory, bytes_.data(), bytes_.size());
    }
  }

 private:
  void encode_field(size_t i, int64_t index) {
    const data::Field& field = source_[i];
    const bool varies = slots_[i].varying != nullptr;
    const std::span<const std::byte> elements =
        varies ? std::span<const std::byte>(slots_[i].varying->data(), slots_[i].varying->bytes())
               : std::span<const std::byte>(slots_[i].fixed, field.sample_bytes);
    try {
      encode(files_[i], field.dtype, varies ? slots_[i].varying->shape() : field.shape, elements, bytes_);
    } catch (const Error& error) {
      throw Error(error.kind(), "{} sample {}: the field \"{}\": {}", dataset_, index, field.name, error.what());
    }
  }

  const std::vector<data::Field>& source_;
  const std::vector<FieldFile>& files_;
  const std::string& dataset_;
  std::unique_ptr<Worker> reader_;
  std::deque<support::AlignedBuffer> fixed_;
  std::deque<data::VaryingSample> varying_;
  std::vector<data::SampleSlot> slots_;
  std::vector<std::byte> bytes_;  // bytes of one file
};

// Each field has shape [-1] and contains the bytes of the file of the field with the same index.
class EncodedSamples final : public data::SampleSource {
 public:
  // `samples` must outlive this object. `dataset`: its name, for messages. Throws as choose_file() does.
  EncodedSamples(data::SampleSource& samples, std::string dataset) : samples_(samples), dataset_(std::move(dataset)) {
    for (const data::Field& field : samples_.fields()) {
      files_.push_back(choose_file(field));
      fields_.push_back({field.name, TENON_UINT8, {-1}, 1, 0});
    }
  }

  int64_t size() const override { return samples_.size(); }
  const std::vector<data::Field>& fields() const override { return fields_; }
  const std::vector<FieldFile>& files() const { return files_; }
  std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) override {
    return std::make_unique<EncodingWorker>(samples_.fields(), files_, dataset_, samples_.open_worker(worker_id, seed));
  }

 private:
  data::SampleSource& samples_;
  std::string dataset_;
  std::vector<FieldFile> files_;
  std::vector<data::Field> fields_;
};

// Writes one shard after another.
class ShardWriter {
 public:
  ShardWriter(const fs::path& folder, const PackOptions& options,
              const std::function<void(const PackedShard&)>& on_shard)
      : folder_(folder), options_(options), on_shard_(on_shard) {
    name_ = options.name;
    std::replace(name_.begin(), name_.end(), '/', '-');
    if (!options.class_names.empty()) class_names_ = artifacts::format_class_names(options.class_names);
    digits_ = std::max<size_t>(6, std::to_string(options.order.size()).size());
  }

  void add(const data::Batch& files, const std::vector<FieldFile>& kinds) {
    const std::string key = fmt::format("{:0{}}.", written_, digits_);
    uint64_t bytes = 0;
    for (size_t i = 0; i < kinds.size(); ++i) bytes += count_member_bytes(key + kinds[i].extension, size_of(files, i));
    if (is_full(bytes)) finish();
    if (!tar_) {
      shard_ = {fmt::format("{}-{:06}.tar", name_, shards_.size()), 0, 0};
      tar_ = std::make_unique<TarWriter>(folder_ / shard_.name);
      if (!class_names_.empty()) tar_->add(kClassNamesMember, std::as_bytes(std::span(class_names_)));
    }
    for (size_t i = 0; i < kinds.size(); ++i)
      tar_->add(key + kinds[i].extension, {files.fields[i].data, size_of(files, i)});
    ++shard_.samples;
    ++written_;
  }

  void finish() {
    if (!tar_) return;
    tar_->finish();
    shard_.bytes = tar_->bytes();
    tar_.reset();
    on_shard_(shard_);
    shards_.push_back(shard_);
  }

  std::vector<PackedShard> take_shards() { return std::move(shards_); }

 private:
  static uint64_t size_of(const data::Batch& files, size_t field) {
    return static_cast<uint64_t>(files.fields[field].shape[1]);
  }

  bool is_full(uint64_t more) const {
    if (!tar_) return false;
    const bool has_all = options_.shard_samples > 0 && shard_.samples >= options_.shard_samples;
    const uint64_t end = 1024;
    return has_all || (options_.shard_bytes > 0 && tar_->bytes() + more + end > options_.shard_bytes);
  }

  fs::path folder_;
  const PackOptions& options_;
  const std::function<void(const PackedShard&)>& on_shard_;
  std::string name_;
  std::string class_names_;  // JSON
  size_t digits_;
  int64_t written_ = 0;
  PackedShard shard_;
  std::unique_ptr<TarWriter> tar_;  // null between shards
  std::vector<PackedShard> shards_;
};

}  // namespace

std::vector<PackedShard> pack_shards(data::SampleSource& samples, const PackOptions& options,
                                     const std::function<void(const PackedShard&)>& on_shard,
                                     const std::atomic<int>& stop) {
  const fs::path path = support::make_absolute(options.folder).lexically_normal();
  const fs::path target = path.has_filename() ? path : path.parent_path();
  check_folder(target);
  EncodedSamples encoded(samples, options.name);
  artifacts::make_folders_durably(target.parent_path(), ErrorKind::data);
  artifacts::DurableFolder folder(target, ErrorKind::data);
  ShardWriter writer(folder.temporary(), options, on_shard);
  data::Loader loader(encoded, {1, options.workers, kPrefetch, options.seed});
  loader.start(options.order, 0);
  while (const data::Batch* files = loader.next()) {
    if (stop != 0) return {};
    writer.add(*files, encoded.files());
  }
  writer.finish();
  folder.commit();
  return writer.take_shards();
}

}  // namespace tenon::packing
