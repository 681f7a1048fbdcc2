#include "framework/pipeline/tools/save_weights.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/export/pt2_archive_constants.h>
#include <torch/types.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

namespace archived = torch::_export::archive_spec;
using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;
using components::NamedTensor;

constexpr auto kKind = support::ErrorKind::configuration;

at::Tensor convert(const std::string& name, const at::Tensor& tensor, at::ScalarType dtype) {
  if (dtype == at::ScalarType::Undefined || !tensor.is_floating_point()) return tensor;
  at::Tensor converted = tensor.to(dtype);
  if (!converted.isfinite().equal(tensor.isfinite()))
    throw support::Error(kKind,
                         "{} has numbers that are too large for {} and would become infinite; expected a dtype with "
                         "their range: bf16 or fp32",
                         name, components::dtype_name(components::to_dtype(dtype)));
  return converted;
}

bool is_tied(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) || (a.numel() > 0 && a.const_data_ptr() == b.const_data_ptr() && a.sizes() == b.sizes() &&
                          a.strides() == b.strides() && a.scalar_type() == b.scalar_type());
}

// Maps each omitted name of a shared tensor to the name that is kept.
std::map<std::string, std::string> find_tied(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, std::string> kept;
  for (const NamedTensor& named : tensors) {
    std::string first = named.name;
    for (const NamedTensor& other : tensors)
      if (is_tied(other.tensor, named.tensor)) first = std::min(first, other.name);
    if (first != named.name) kept.emplace(named.name, first);
  }
  return kept;
}

[[noreturn]] void refuse_archive(const std::filesystem::path& source, const std::string& problem) {
  throw support::Error(kKind, "{}: {}", source.string(), problem);
}

std::string read_record(PyTorchStreamReader& reader, const std::string& name) {
  std::string bytes(reader.getRecordSize(name), '\0');
  TORCH_CHECK(reader.getRecord(name, bytes.data(), bytes.size()) == bytes.size(), name, " is cut short");
  return bytes;
}

// The place of a tensor in a record, in elements.
struct ArchivedLayout {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
};

std::vector<int64_t> read_extents_of(const nlohmann::json& list) {
  std::vector<int64_t> integers;
  for (const nlohmann::json& each : list) integers.push_back(each.at("as_int").get<int64_t>());
  return integers;
}

// Writes tensors into the bytes of their records, and copies all other records.
class ArchiveCopy {
 public:
  ArchiveCopy(const std::filesystem::path& source, const std::vector<NamedTensor>& tensors)
      : source_(source), reader_(source.string()) {
    for (const NamedTensor& named : tensors) tensors_.emplace(named.name, named.tensor.detach());
    const std::string folder(archived::WEIGHTS_DIR), suffix = "_weights_config.json";
    for (const std::string& record : reader_.getAllRecords())
      if (record.starts_with(folder) && record.ends_with(suffix)) read_config(record);
    for (const NamedTensor& named : tensors)
      if (!names_.contains(named.name))
        refuse_archive(source_, "has no tensor " + named.name + ", which the model has");
  }

  void write(PyTorchStreamWriter& writer, const std::map<std::string, std::string>& extra_files) {
    writer.setMinVersion(6);  // as Python's writer does for .pt2
    for (const std::string& record : reader_.getAllRecords()) {
      // The writer adds these records itself.
      if (record.starts_with(".data/") || record == "byteorder" || record == "version") continue;
      if (record.starts_with(archived::EXTRA_DIR) && extra_files.contains(record.substr(archived::EXTRA_DIR.size())))
        continue;
      std::string bytes = read_record(reader_, record);
      const auto [first, last] = stored_.equal_range(record);
      for (auto tensor = first; tensor != last; ++tensor) overwrite(bytes, tensor->second.first, tensor->second.second);
      writer.writeRecord(record, bytes.data(), bytes.size());
    }
    for (const auto& [name, text] : extra_files)
      writer.writeRecord(std::string(archived::EXTRA_DIR) + name, text.data(), text.size());
    writer.writeEndOfFile();
  }

  size_t count() const { return names_.size(); }

 private:
  void read_config(const std::string& record) {
    const nlohmann::json config = nlohmann::json::parse(read_record(reader_, record));
    for (const auto& entry : config.at("config").items()) {
      const std::string& name = entry.key();
      const auto found = tensors_.find(name);
      if (found == tensors_.end())
        refuse_archive(source_, "the model has no tensor " + name + ", which " + record + " lists");
      const nlohmann::json& meta = entry.value().at("tensor_meta");
      const ArchivedLayout layout{read_extents_of(meta.at("sizes")), read_extents_of(meta.at("strides")),
                                  meta.at("storage_offset").at("as_int").get<int64_t>()};
      if (found->second.sizes() != layout.sizes) refuse_archive(source_, name + " has another shape than in the model");
      names_.insert(name);
      stored_.emplace(std::string(archived::WEIGHTS_DIR) + entry.value().at("path_name").get<std::string>(),
                      std::pair(found->second, layout));
    }
  }

  // as_strided checks that the layout is within the bytes.
  static void overwrite(std::string& bytes, const at::Tensor& tensor, const ArchivedLayout& layout) {
    const auto count = static_cast<int64_t>(bytes.size() / tensor.element_size());
    const at::Tensor storage = at::from_blob(bytes.data(), {count}, at::TensorOptions(tensor.scalar_type()));
    storage.as_strided(layout.sizes, layout.strides, layout.offset).copy_(tensor);
  }

  const std::filesystem::path source_;
  PyTorchStreamReader reader_;
  std::map<std::string, at::Tensor> tensors_;
  std::set<std::string> names_;
  std::multimap<std::string, std::pair<at::Tensor, ArchivedLayout>> stored_;  // by the record
};

}  // namespace

size_t save_weights(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors, at::ScalarType dtype,
                    const config::ClassNames& class_names, const std::map<std::string, std::string>& more) {
  const std::map<std::string, std::string> tied = find_tied(tensors);
  HostCopies copies(/*shares=*/true);
  std::vector<std::pair<std::string, at::Tensor>> copied;
  for (const NamedTensor& named : tensors)
    if (!tied.contains(named.name)) copied.emplace_back(named.name, copies.add(named.name, named.tensor));
  copies.submit();
  copies.wait();
  std::vector<artifacts::TensorView> views;
  for (auto& [name, tensor] : copied) {
    tensor = convert(name, tensor, dtype);
    views.push_back(make_view(name, tensor));
  }
  artifacts::Metadata metadata = artifacts::make_weights_metadata(class_names);
  metadata.insert(tied.begin(), tied.end());
  metadata.insert(more.begin(), more.end());
  artifacts::write_safetensors(file, views, metadata, kKind);
  return views.size();
}

size_t save_archive(const std::filesystem::path& source, const std::filesystem::path& file,
                    const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& extra_files) {
  try {
    ArchiveCopy copy(source, tensors);
    artifacts::DurableFile target(file, kKind);
    PyTorchStreamWriter writer([&](const void* bytes, size_t size) {
      target.write(std::string_view(static_cast<const char*>(bytes), size));
      return size;
    });
    copy.write(writer, extra_files);
    target.commit();
    return copy.count();
  } catch (const c10::Error& error) {
    refuse_archive(source, std::string("cannot be copied: ") + error.what_without_backtrace());
  } catch (const nlohmann::json::exception& error) {
    refuse_archive(source, std::string("has tables of weights that cannot be read: ") + error.what());
  }
}

}  // namespace tenon::pipeline
