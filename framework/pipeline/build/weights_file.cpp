#include "framework/pipeline/build/weights_file.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/types.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/state_dict_pickle.h"
#include "framework/artifacts/files/archive_sums.h"
#include "framework/components/calls/ports.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace fs = std::filesystem;
using artifacts::PickledTensor;
using artifacts::TensorView;
using caffe2::serialize::PyTorchStreamReader;
using support::Error;
using support::ErrorKind;

namespace {

constexpr const char* kHowToConvert =
    "; expected safetensors, or a state_dict of PyTorch 1.6 or later: torch.save(torch.load(FILE, weights_only=True), "
    "FILE)";

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::checkpoint, "{}: {}", file.string(), what);
}

std::string read_start(const fs::path& file) {
  std::string start(8, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return start;
}

// A safetensors file begins with the length of its header, which may have the same first bytes as a pickle. The length
// is then larger than the file.
bool is_pickle(const std::string& start, uint64_t file_bytes) {
  uint64_t length = 0;
  if (start.size() < sizeof length) return false;
  std::memcpy(&length, start.data(), sizeof length);
  return start[0] == '\x80' && start[1] >= 1 && start[1] <= 5 && length > file_bytes;
}

// The contents of a folder of Hugging Face.
fs::path find_in_folder(const fs::path& folder) {
  if (const fs::path file = artifacts::find_model_file(folder); support::is_file(file)) return file;
  refuse(folder, fmt::format("is a folder without {} and without {}; expected one of them, or a file of weights",
                             artifacts::kModelIndex, artifacts::kModelFile));
}

// Tensors that share a storage are copied. A pickle of a few megabytes could name a hundred thousand of them.
void check_total(const std::vector<PickledTensor>& tensors, const fs::path& file) {
  constexpr uint64_t kMostTimes = 16, kSmallest = uint64_t{64} << 20;
  const uint64_t file_bytes = support::read_file_size(file, ErrorKind::checkpoint);
  uint64_t left = kMostTimes * std::max(file_bytes, kSmallest);
  for (const PickledTensor& tensor : tensors) {
    const uint64_t bytes = artifacts::count_bytes(tensor.shape, components::dtype_bytes(tensor.dtype)).value_or(0);
    if (bytes > left)
      refuse(file, "has tensors with more than " + std::to_string(kMostTimes) +
                       " times the bytes of the file; expected a state_dict of torch.save; the file may be damaged");
    left -= bytes;
  }
}

// Reading any other byte as a C++ bool is undefined behaviour.
void check_booleans(const PickledTensor& tensor, const std::vector<std::byte>& elements, const fs::path& file) {
  const auto wrong = std::ranges::find_if(elements, [](std::byte value) { return value > std::byte{1}; });
  if (wrong == elements.end()) return;
  refuse(file, fmt::format("the element {} of the tensor {} of type BOOL is {}; expected 0 or 1",
                           wrong - elements.begin(), artifacts::quote_name(tensor.name), std::to_integer<int>(*wrong)));
}

// The elements of one tensor in row-major order.
void copy_elements(const PickledTensor& tensor, const std::byte* storage, size_t element, std::byte* out) {
  std::vector<int64_t> at(tensor.shape.size(), 0);
  uint64_t place = tensor.offset;
  while (true) {
    std::memcpy(out, storage + place * element, element);
    out += element;
    size_t dimension = at.size();
    while (dimension > 0) {
      --dimension;
      place += static_cast<uint64_t>(tensor.strides[dimension]);
      if (++at[dimension] < tensor.shape[dimension]) break;
      place -= static_cast<uint64_t>(tensor.strides[dimension]) * static_cast<uint64_t>(tensor.shape[dimension]);
      at[dimension] = 0;
      if (dimension == 0) return;
    }
    if (at.empty()) return;
  }
}

// The records of an archive, compared with their checksums.
class Records {
 public:
  explicit Records(const fs::path& file) : file_(file), sums_(read_sums(file)), reader_(file.string()) {}

  bool has(const std::string& name) { return reader_.hasRecord(name); }

  std::pair<at::DataPtr, size_t> read(const std::string& name) {
    auto [data, bytes] = reader_.getRecord(name);
    const auto sum = sums_.find(name);
    if (sum == sums_.end() || ::crc32_z(0, static_cast<const Bytef*>(data.get()), bytes) != sum->second)
      refuse(file_, "the checksum of the record " + artifacts::quote_name(name) +
                        " does not match its contents; the file is damaged: copy or download it again");
    return {std::move(data), bytes};
  }

 private:
  static std::map<std::string, uint32_t> read_sums(const fs::path& file) {
    const uint64_t size = support::read_file_size(file, ErrorKind::checkpoint);
    const uint64_t bytes = std::min(size, artifacts::kArchiveEndBytes);
    std::vector<std::byte> end(bytes);
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(size - bytes));
    stream.read(reinterpret_cast<char*>(end.data()), static_cast<std::streamsize>(bytes));
    if (!stream) refuse(file, "cannot be read; expected a file of weights");
    return artifacts::read_archive_sums(end, size - bytes, file.string());
  }

  const fs::path& file_;
  std::map<std::string, uint32_t> sums_;
  PyTorchStreamReader reader_;  // decompresses a record when it opens the file, after the check of the sizes
};

// A file of a training often has the weights and their average.
void report_key(const artifacts::PickledStateDict& parsed, const fs::path& file) {
  if (parsed.key.empty()) return;
  const std::string used = fmt::format("{}: the weights are at [\"{}\"]", file.string(), parsed.key);
  if (parsed.others.empty()) return support::log_info(used);
  support::log_warning(
      "{}{}; those at {} are not used: to use them, save them alone, torch.save(torch.load(\"{}\", "
      "weights_only=True){}, FILE)",
      used, parsed.key.ends_with("_ema") ? ", an average, as timm prefers" : "", formats::join(parsed.others),
      file.filename().string(), parsed.others.front());
}

void check_kind(Records& reader, const fs::path& file) {
  if (reader.has("data.pkl") && !reader.has("constants.pkl")) return;
  if (reader.has("constants.pkl"))
    refuse(file, "is a TorchScript model; expected weights: torch.save(model.state_dict(), FILE)");
  refuse(file, std::string("has no record data.pkl, so torch.save did not write it") + kHowToConvert);
}

}  // namespace

WeightsFile::WeightsFile(const fs::path& path) {
  const fs::path file = support::is_folder(path) ? find_in_folder(path) : path;
  const std::string start = read_start(file);
  if (file.string().ends_with(artifacts::kIndexSuffix)) {
    open_index(file);
  } else if (start.starts_with("PK\x03\x04")) {
    open_archive(file);
  } else {
    if (is_pickle(start, support::read_file_size(file, ErrorKind::checkpoint)))
      refuse(file, std::string("is a pickle, as torch.save wrote it before PyTorch 1.6") + kHowToConvert);
    files_.push_back(std::make_unique<artifacts::SafetensorsFile>(file));
    tensors_ = files_.back()->tensors();
  }
}

void WeightsFile::open_index(const fs::path& index) {
  const artifacts::WeightMap map = artifacts::read_model_index(index);
  std::set<std::string> found;
  for (const std::string& name : artifacts::list_names(map)) {
    const fs::path file = index.parent_path() / name;
    files_.push_back(std::make_unique<artifacts::SafetensorsFile>(file));
    for (const TensorView& tensor : files_.back()->tensors()) {
      const auto listed = map.find(tensor.name);
      if (listed == map.end() || listed->second != name)
        refuse(index, fmt::format("does not list the tensor {} of {}; expected the files that belong to the index",
                                  artifacts::quote_name(tensor.name), name));
      found.insert(tensor.name);
      tensors_.push_back(tensor);
    }
  }
  for (const auto& [tensor, file] : map)
    if (!found.contains(tensor))
      refuse(index, "lists the tensor " + artifacts::quote_name(tensor) + " in " + file +
                        ", which lacks it; expected the files that belong to the index");
}

void WeightsFile::open_archive(const fs::path& file) {
  try {
    Records reader(file);
    check_kind(reader, file);
    if (reader.has("byteorder")) {
      const auto [order, bytes] = reader.read("byteorder");
      if (std::string_view(static_cast<const char*>(order.get()), bytes) != "little")
        refuse(file, std::string("was written on a big-endian machine") + kHowToConvert);
    }
    const auto [pickle, pickle_bytes] = reader.read("data.pkl");
    const artifacts::PickledStateDict parsed =
        artifacts::parse_state_dict({static_cast<const char*>(pickle.get()), pickle_bytes}, file.string());
    report_key(parsed, file);
    check_total(parsed.tensors, file);
    std::map<std::string, std::pair<at::DataPtr, size_t>> storages;
    for (const PickledTensor& tensor : parsed.tensors) {
      const uint64_t element = components::dtype_bytes(tensor.dtype);
      auto storage = storages.find(tensor.storage);
      if (storage == storages.end()) {
        const std::string record = "data/" + tensor.storage;
        if (!reader.has(record))
          refuse(file, fmt::format("lacks the record {} of the tensor {}; the file may be damaged",
                                   artifacts::quote_name(record), artifacts::quote_name(tensor.name)));
        auto [data, bytes] = reader.read(record);
        storage = storages.emplace(tensor.storage, std::pair(std::move(data), bytes)).first;
      }
      if (storage->second.second / element < tensor.storage_elements)
        refuse(file, fmt::format("has {} bytes for the storage of the tensor {}; expected {}: the file may be damaged",
                                 storage->second.second, artifacts::quote_name(tensor.name),
                                 tensor.storage_elements * element));
      const uint64_t bytes = artifacts::count_bytes(tensor.shape, element).value_or(0);
      std::vector<std::byte>& copy = copies_.emplace_back(bytes);
      if (bytes > 0)
        copy_elements(tensor, static_cast<const std::byte*>(storage->second.first.get()), element, copy.data());
      if (tensor.dtype == TENON_BOOL) check_booleans(tensor, copy, file);
      tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, copy.data(), bytes});
    }
  } catch (const c10::Error& error) {  // such as a wrong checksum
    refuse(file, fmt::format("cannot be read as an archive of torch.save: {}{}", error.what_without_backtrace(),
                             kHowToConvert));
  }
}

}  // namespace tenon::pipeline
