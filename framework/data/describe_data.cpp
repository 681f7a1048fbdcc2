#include "framework/data/describe_data.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <variant>
#include <vector>

#include "framework/components/calls/ports.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kMostSampleFiles = 100'000;  // a size may take a millisecond on a network file system

// The digest of a long list.
class Digest {
 public:
  void add(const std::string& line) {
    constexpr size_t kMostPending = size_t{1} << 20;
    pending_ += line;
    pending_ += '\n';
    if (pending_.size() > kMostPending) pending_ = support::xxh128(pending_);
  }
  std::string read() const { return support::xxh128(pending_); }

 private:
  std::string pending_;
};

class Files {
 public:
  // Whether there is such a file. `name`: without the folder that may move.
  bool add(const fs::path& file, const std::string& name) {
    std::error_code missing;
    if (!fs::is_regular_file(file, missing)) return false;
    const uintmax_t size = fs::file_size(file, missing);
    if (missing) return false;
    ++count_;
    bytes_ += size;
    digest_.add(name + '\t' + std::to_string(size));
    return true;
  }

  std::string describe() const {
    if (count_ == 0) return {};
    return support::format_count(count_, "file") + ", " + std::to_string(bytes_) + " bytes, " + digest_.read();
  }

 private:
  int64_t count_ = 0;
  uintmax_t bytes_ = 0;
  Digest digest_;
};

// The digest of a file's contents. A large file counts with its beginning, middle and end.
std::string digest_contents(const fs::path& file) {
  constexpr uintmax_t kMostWhole = uintmax_t{16} << 20;
  constexpr uintmax_t kPiece = uintmax_t{64} << 10;
  const uintmax_t size = support::read_file_size(file, support::ErrorKind::data);
  if (size <= kMostWhole) return support::read_xxh128(file);
  support::FileStream stream(file, {support::ErrorKind::system});
  std::string pieces;
  for (const uintmax_t begin : {uintmax_t{0}, (size - kPiece) / 2, size - kPiece}) {
    std::string piece(kPiece, '\0');
    stream.seekg(static_cast<std::streamoff>(begin)).read(piece.data(), static_cast<std::streamsize>(kPiece));
    pieces += piece;
  }
  return support::xxh128(pieces);
}

// The files and folders that the parameters name. A cache is no data.
std::vector<fs::path> list_paths(const components::Dataset& dataset, const config::NamedDataset& plan) {
  std::vector<fs::path> paths;
  for (const config::ParamSchema& param : dataset.component().schema.params) {
    const auto value = plan.params.find(param.name);
    if (param.type != config::ParamType::path || value == plan.params.end() || param.name.starts_with("cache"))
      continue;
    const auto* const path = std::get_if<std::string>(&value->second);
    if (path && !path->empty()) paths.emplace_back(*path);
  }
  return paths;
}

std::string describe_fields(const components::Dataset& dataset) {
  std::string text;
  for (const components::SampleField& field : dataset.fields())
    text += (text.empty() ? "" : ", ") + field.name + ' ' + components::dtype_name(field.dtype) + ' ' +
            to_string(components::sample_pattern(field));
  return text;
}

}  // namespace

DataDescription describe_data(const components::Dataset& dataset, const config::NamedDataset& plan) {
  DataDescription description{{"samples", std::to_string(dataset.size())}, {"fields", describe_fields(dataset)}};
  Files files;
  std::vector<fs::path> folders;  // that samples may be named in
  Digest contents;
  int64_t named = 0;
  for (const fs::path& path : list_paths(dataset, plan)) {
    const bool is_file = files.add(path, path.filename().string());
    folders.push_back(is_file ? path.parent_path() : path);
    if (!is_file) continue;
    ++named;
    contents.add(digest_contents(path));
  }
  if (named > 0) description["contents"] = support::format_count(named, "file") + ", " + contents.read();
  if (dataset.names_samples()) {
    Digest names;
    for (int64_t i = 0; i < dataset.size(); ++i) {
      const std::string name = dataset.name_sample(i);
      names.add(name);
      if (dataset.size() > kMostSampleFiles) continue;
      for (const fs::path& folder : folders)
        if (files.add(folder / name, name)) break;
    }
    description["names"] = support::format_count(dataset.size(), "name") + ", " + names.read();
  }
  if (std::string described = files.describe(); !described.empty()) description["files"] = std::move(described);
  if (const auto fingerprint = dataset.read_fingerprint()) description["fingerprint"] = std::to_string(*fingerprint);
  return description;
}

std::string compare_descriptions(const DataDescription& before, const DataDescription& now) {
  std::string text;
  for (const auto& [what, value] : before) {
    const auto found = now.find(what);
    if (found == now.end() || found->second == value) continue;
    text += "\n  " + what + ": " + value + ", now " + found->second;
  }
  return text;
}

}  // namespace tenon::data
