#include "framework/pipeline/tools/model_file.h"

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/files/archive_sums.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/kinds/value_encoder.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/formats/json_depth.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/pipeline/build/connections.h"
#include "framework/pipeline/tools/export_metadata.h"
#include "framework/pipeline/tools/save_weights.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/files.h"

namespace tenon::pipeline {

namespace fs = std::filesystem;
using caffe2::serialize::PyTorchStreamReader;
using caffe2::serialize::PyTorchStreamWriter;
using nlohmann::json;
using support::ErrorKind;

namespace {

constexpr auto kUnwritable = ErrorKind::configuration;
constexpr auto kUnreadable = ErrorKind::checkpoint;
constexpr const char* kDescription = "model.json";
constexpr const char* kFiles = "files/";
constexpr int kMostNesting = 64;  // of the description
constexpr std::string_view kDigestName = "xxh128:";
constexpr size_t kCommentBytes = kDigestName.size() + 32;

[[noreturn]] void refuse_model_file(const fs::path& file, const std::string& problem) {
  throw support::Error(kUnreadable, "{}: {}; expected a file of `host export --output NAME.tenon`: export it again",
                       file.string(), problem);
}

// A file that is removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& next_to) : path_(artifacts::make_temporary_path(next_to)) {}
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The bytes of a file, in memory while this object lives.
class MappedBytes {
 public:
  MappedBytes(const fs::path& file, ErrorKind kind) {
    const support::FileDescriptor descriptor(
        support::retry_interrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
    if (!descriptor.is_open()) throw artifacts::make_file_error(kind, file, "cannot be opened", errno);
    if (!support::is_file(file)) support::refuse_path(kind, file, "is not a file");
    size_ = support::read_file_size(file, kind);
    if (size_ == 0) return;
    void* const start = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
    if (start == MAP_FAILED) throw artifacts::make_file_error(kind, file, "cannot be mapped into memory", errno);
    start_ = static_cast<const std::byte*>(start);
  }
  ~MappedBytes() {
    if (start_) ::munmap(const_cast<std::byte*>(start_), size_);
  }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  std::span<const std::byte> bytes() const { return {start_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(start_), size_}; }

 private:
  const std::byte* start_ = nullptr;
  size_t size_ = 0;
};

// Lets LibTorch read an archive in the mapping that was compared with the digest, also if another file has its name by
// now.
class MappedArchive final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit MappedArchive(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t place, void* to, size_t count, const char*) const override {
    if (place >= bytes_.size()) return 0;
    const std::span<const std::byte> part = bytes_.subspan(place, std::min(count, bytes_.size() - place));
    std::ranges::copy(part, static_cast<std::byte*>(to));
    return part.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

// Adds a digest as the comment of the archive that is written to it.
class ArchiveWithDigest {
 public:
  explicit ArchiveWithDigest(const fs::path& file) : file_(file, kUnwritable) {}

  void write(std::string_view bytes) {
    end_ += bytes;
    if (end_.size() <= kEndRecordBytes) return;
    write_now(std::string_view(end_).substr(0, end_.size() - kEndRecordBytes));
    end_.erase(0, end_.size() - kEndRecordBytes);
  }

  void commit() {
    // The last field of the end record is the length of the comment.
    end_[end_.size() - 2] = static_cast<char>(kCommentBytes);
    write_now(end_);
    file_.write(std::string(kDigestName) + digest_.hexadecimal());
    file_.commit();
  }

 private:
  static constexpr size_t kEndRecordBytes = 22;

  void write_now(std::string_view bytes) {
    file_.write(bytes);
    digest_.add(std::as_bytes(std::span(bytes)));
  }

  artifacts::DurableFile file_;
  support::Xxh128 digest_;
  std::string end_;
};

void add_member(PyTorchStreamWriter& writer, const std::string& name, std::string_view bytes) {
  writer.writeRecord(name, bytes.data(), bytes.size());
}

const config::NamedDataset& find_data(const ModelFileContents& contents) {
  const config::DataSection& data = contents.plan.data;
  const auto is_data = [&](const config::NamedDataset& one) { return one.name == contents.data.name(); };
  const auto found = std::ranges::find_if(data.validation, is_data);
  return found == data.validation.end() ? data.train : *found;
}

json describe_field(const components::SampleField& field, const ModelFileContents& contents, size_t index) {
  const components::Dataset& data = contents.data;
  json printed{{"name", field.name},
               {"dtype", components::dtype_name(field.dtype)},
               {"shape", field.shape},
               {"least_extent", field.least_extent}};
  json& padding = printed["padding"] = json::array();
  for (size_t i = 0; i < field.element_bytes; ++i) padding.push_back(std::to_integer<int>(field.padding[i]));
  for (const components::FieldSteps& known : data.preprocessing())
    if (known.field == index) printed["preprocessing"] = json::parse(known.steps);
  if (components::ValueEncoder::make(data.component(), find_data(contents).params, data.read_fitted_data(), field.name))
    printed["encoder"] = true;
  return printed;
}

// What `host predict` does with the model, and the fields that the model reads.
json describe_run(const ModelFileContents& contents) {
  const config::RunPlan& plan = contents.plan;
  const BatchTransforms transforms(plan.data.batch_transforms, contents.data.fields());
  const Wiring wiring = connect_model(contents.model, plan.model, contents.data.name(), transforms.fields());
  json run{{"precision", config::to_string(plan.train.precision)},
           {"memory_format", config::to_string(plan.train.memory_format)},
           {"flush_denormal", plan.run.flush_denormal},
           {"seed", plan.run.seed},
           {"step", contents.step},
           {"epoch", contents.epoch},
           {"connections", wiring.source_names()},
           {"fields", json::array()},
           {"batch_transforms", json::array()}};
  const std::vector<components::SampleField>& fields = contents.data.fields();
  for (size_t i = 0; i < fields.size(); ++i)
    if (std::ranges::count(wiring.sources(), i, &Source::index) > 0)
      run["fields"].push_back(describe_field(fields[i], contents, i));
  for (const Source& source : wiring.sources())
    if (source.index >= fields.size())
      throw support::Error(kUnwritable,
                           "{}: reads {}, which a batch transform adds in training; expected a model that reads fields "
                           "of the dataset",
                           plan.model.place, source.name);
  for (const config::BatchTransformPlan& transform : plan.data.batch_transforms)
    if (const auto* normalize = std::get_if<config::NormalizeBatch>(&transform.what))
      run["batch_transforms"].push_back(
          {{"use", "normalize"}, {"field", normalize->field}, {"mean", normalize->mean}, {"std", normalize->std}});
  return run;
}

json describe_plugin(const components::PluginInfo& plugin, const std::vector<fs::path>& bundled_plugins) {
  const bool is_bundled = std::ranges::count(bundled_plugins, plugin.file.parent_path()) > 0;
  return {{"id", plugin.id},
          {"version", plugin.version},
          {"file", plugin.file.filename().string()},
          {"sha256", plugin.sha256},
          {"bundled", is_bundled}};
}

// The files that parameters of the model name, by parameter.
std::map<std::string, fs::path> list_files(const ModelFileContents& contents) {
  std::map<std::string, fs::path> files;
  for (const config::ParamSchema& param : contents.model.component().schema.params) {
    const auto value = contents.plan.model.params.find(param.name);
    if (param.type != config::ParamType::path || value == contents.plan.model.params.end()) continue;
    const fs::path path = std::get<std::string>(value->second);
    if (path.empty()) continue;
    if (!support::is_file(path))
      throw support::Error(kUnwritable, "{}: model.params.{} {}; expected a file, which the model file then contains",
                           path.string(), param.name, support::describe_path(path));
    files.emplace(param.name, path);
  }
  return files;
}

// A path that only the training machine has.
void replace_paths(config::Values& params, const config::ComponentSchema* schema, const std::string& key) {
  if (!schema) return;
  for (const config::ParamSchema& param : schema->params) {
    const auto value = params.find(param.name);
    if (param.type != config::ParamType::path || value == params.end()) continue;
    if (!std::get<std::string>(value->second).empty()) value->second = "(set " + key + ".params." + param.name + ")";
  }
}

// What evaluation needs of the plan, with the described data as the only ones.
config::RunPlan make_portable_plan(const ModelFileContents& contents) {
  const config::RunPlan& from = contents.plan;
  const auto find_schema = [&](config::ComponentKind kind, const std::string& id) {
    return contents.schemas.find_schema(kind, id);
  };
  config::RunPlan plan;
  plan.run = from.run;
  plan.run.output_dir = "runs";
  plan.model = from.model;
  plan.model.weights.clear();
  plan.model.weights_rename.clear();
  plan.model.weights_exclude.clear();
  plan.model.weights_match = {};
  replace_paths(plan.model.params, find_schema(config::ComponentKind::model, plan.model.use), "model");
  plan.data.batch_size = from.data.batch_size;
  plan.data.validation_batch_size = from.data.validation_batch_size;
  plan.data.workers = from.data.workers;
  plan.data.prefetch = from.data.prefetch;
  plan.data.on_error = from.data.on_error;
  plan.data.class_names = from.data.class_names;
  plan.data.batch_transforms = from.data.batch_transforms;
  config::NamedDataset data = find_data(contents);
  data.subset = {};
  data.part = config::FoldPart::all;
  replace_paths(data.params, find_schema(config::ComponentKind::dataset, data.use), "data.validation");
  data.name = "train";
  plan.data.train = data;
  data.name = "validation";
  plan.data.validation = {std::move(data)};
  plan.losses = from.losses;
  for (config::LossPlan& loss : plan.losses)
    replace_paths(loss.params, find_schema(config::ComponentKind::loss, loss.use), "loss");
  plan.metrics = from.metrics;
  for (config::MetricPlan& metric : plan.metrics)
    replace_paths(metric.params, find_schema(config::ComponentKind::metric, metric.use), "metric");
  plan.train.steps = 1;
  plan.train.precision = from.train.precision;
  plan.train.memory_format = from.train.memory_format;
  plan.optimizer = from.optimizer;
  return plan;
}

std::string read_member(PyTorchStreamReader& reader, const std::string& name) {
  auto [data, bytes] = reader.getRecord(name);
  return {static_cast<const char*>(data.get()), bytes};
}

}  // namespace

size_t write_model_file(const fs::path& file, const ModelFileContents& contents) {
  json description = json::parse(format_export_metadata(contents.plan, contents.model, &contents.data, {}));
  description["model_file"] = kModelFileFormat;
  description["run"] = describe_run(contents);
  description["plugins"] = {describe_plugin(*contents.model.component().plugin, contents.bundled_plugins)};
  const json& fields = description["run"]["fields"];
  if (std::ranges::any_of(fields, [](const json& field) { return field.contains("encoder"); })) {
    description["plugins"].push_back(describe_plugin(*contents.data.component().plugin, contents.bundled_plugins));
    const artifacts::FittedData fitted = {{contents.data.component().schema.id, contents.data.read_fitted_data()}};
    description["run"]["fitted_data"] = json::parse(artifacts::format_fitted_data(fitted));
  }
  std::vector<components::NamedTensor> tensors = contents.model.tensors();
  ArchiveWithDigest archive(file);
  PyTorchStreamWriter writer([&](const void* bytes, size_t size) {
    archive.write({static_cast<const char*>(bytes), size});
    return size;
  });
  size_t count = 0;
  for (const auto& [param, path] : list_files(contents)) {
    const std::string member = kFiles + param + path.extension().string();
    description["files"][param] = member;
    if (path.extension() != ".pt2" || count > 0) {
      add_member(writer, member, MappedBytes(path, kUnwritable).text());
      continue;
    }
    std::vector<components::NamedTensor> all = tensors;
    all.insert(all.end(), contents.model.tied_tensors().begin(), contents.model.tied_tensors().end());
    const TemporaryFile copy(file);
    count = save_archive(path, copy.path(), all);
    add_member(writer, member, MappedBytes(copy.path(), kUnwritable).text());
  }
  add_member(writer, kModelRunFile, config::format_run_plan(make_portable_plan(contents)));
  if (count == 0) {
    const TemporaryFile weights(file);
    count = save_weights(weights.path(), tensors, at::ScalarType::Undefined, contents.plan.data.class_names,
                         contents.metadata);
    description["weights"] = kModelWeights;
    add_member(writer, kModelWeights, MappedBytes(weights.path(), kUnwritable).text());
  }
  add_member(writer, kDescription, description.dump(2, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace));
  writer.writeEndOfFile();
  archive.commit();
  return count;
}

struct ModelFile::Archive {
  explicit Archive(const fs::path& file) : mapped(file, kUnreadable) {}

  MappedBytes mapped;
  std::unique_ptr<PyTorchStreamReader> reader = {};  // of the mapping
};

ModelFile::ModelFile(fs::path file) : file_(std::move(file)), archive_(std::make_unique<Archive>(file_)) {
  const MappedBytes& mapped = archive_->mapped;
  const std::string_view all = mapped.text();
  if (!all.starts_with("PK\x03\x04") || all.size() < kCommentBytes ||
      all.substr(all.size() - kCommentBytes, kDigestName.size()) != kDigestName)
    refuse_model_file(file_, "is not a model file, or is cut short");
  const std::string_view contents = all.substr(0, all.size() - kCommentBytes);
  if (const std::string found = support::xxh128(contents); all.substr(all.size() - found.size()) != found)
    refuse_model_file(file_, "its XXH128 is " + found + ", and the file names " +
                                 std::string(all.substr(all.size() - 32)) +
                                 "; it was damaged or changed after it was written");
  const uint64_t end = std::min<uint64_t>(all.size(), artifacts::kArchiveEndBytes);
  artifacts::read_archive_sums(mapped.bytes().subspan(all.size() - end), all.size() - end, file_.string());
  try {
    archive_->reader = std::make_unique<PyTorchStreamReader>(std::make_shared<MappedArchive>(mapped.bytes()));
    const std::string text = read_member(*archive_->reader, kDescription);
    if (formats::is_nested_deeper(text, kMostNesting)) refuse_model_file(file_, "its description is nested too deeply");
    description_ = std::make_unique<json>(json::parse(text));
    if (const int format = description_->at("model_file").get<int>(); format != kModelFileFormat)
      refuse_model_file(file_,
                        fmt::format("has the format {} of model files; this Tenon reads {}", format, kModelFileFormat));
  } catch (const c10::Error& error) {
    refuse_model_file(file_, std::string("cannot be read: ") + error.what_without_backtrace());
  } catch (const json::exception& error) {
    refuse_model_file(file_, std::string("its description cannot be read: ") + error.what());
  }
}

ModelFile::~ModelFile() = default;

fs::path ModelFile::open(const std::string& member) {
  if (const auto found = opened_.find(member); found != opened_.end()) return found->second.path;
  support::FileDescriptor memory(::memfd_create("tenon-model", MFD_CLOEXEC));
  if (!memory.is_open()) throw artifacts::make_file_error(kUnreadable, file_, "its members cannot be copied", errno);
  try {
    const std::span<const std::byte> all = archive_->mapped.bytes();
    const uint64_t begin = archive_->reader->getRecordOffset(member), bytes = archive_->reader->getRecordSize(member);
    if (begin > all.size() || bytes > all.size() - begin)
      refuse_model_file(file_, "its member " + member + " is not within the file");
    if (const int error = artifacts::write_fully(memory.number(), all.subspan(begin, bytes)); error != 0)
      throw artifacts::make_file_error(kUnreadable, file_, "its members cannot be copied", error);
  } catch (const c10::Error& error) {
    refuse_model_file(file_, "its member " + member + " cannot be read: " + error.what_without_backtrace());
  }
  fs::path path = "/proc/self/fd/" + std::to_string(memory.number());
  opened_.emplace(member, Opened{std::move(memory), path});
  return path;
}

bool ModelFile::has_opened(const fs::path& path) const {
  return std::ranges::any_of(opened_, [&](const auto& opened) { return opened.second.path == path; });
}

std::map<std::string, fs::path> ModelFile::open_files() {
  std::map<std::string, fs::path> files;
  if (description_->contains("files"))
    for (const auto& [param, member] : description_->at("files").items())
      files.emplace(param, open(member.get<std::string>()));
  return files;
}

std::string ModelFile::name_members(std::string message) const {
  for (const auto& [member, opened] : opened_) {
    const std::string path = opened.path.string(), name = file_.string() + ": " + member;
    for (size_t place = message.find(path); place != message.npos; place = message.find(path, place + name.size()))
      message.replace(place, path.size(), name);
  }
  return message;
}

}  // namespace tenon::pipeline
