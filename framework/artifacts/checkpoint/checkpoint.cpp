#include "framework/artifacts/checkpoint/checkpoint.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

using support::ErrorKind;

// Checks the free space first, so that a checkpoint does not fill a shared disk before it fails.
void require_space(const fs::path& folder, const CheckpointContents& contents) {
  uint64_t needed = 0;
  for (const std::span<const TensorView> tensors : {contents.model, contents.training})
    for (const TensorView& tensor : tensors) needed += tensor.bytes;
  struct statvfs disk;
  // The write reports the error. Some FUSE file systems report no size.
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= needed) return;
  throw make_file_error(ErrorKind::checkpoint, folder,
                        fmt::format("a checkpoint of {} does not fit into {} of free space",
                                    support::format_bytes(needed), support::format_bytes(free)),
                        ENOSPC);
}

// The index of the files of the model that are in the folder.
std::string index_model(const fs::path& folder, const std::vector<CheckpointFile>& files) {
  WeightMap map;
  uint64_t bytes = 0;
  for (const CheckpointFile& file : files) {
    if (!is_model_file(file.name)) continue;
    const SafetensorsFile part(folder / file.name);
    for (const TensorView& tensor : part.tensors()) {
      map[tensor.name] = file.name;
      bytes += tensor.bytes;
    }
  }
  return format_model_index(map, bytes);
}

constexpr auto kPartErrors = support::ErrorKind::checkpoint;
constexpr auto kPartPollInterval = std::chrono::milliseconds(5);
constexpr std::string_view kPartPrefix = "training.rank";
constexpr std::string_view kPartSuffix = ".safetensors";

// The name is temporary, so that a later run removes what remains of a crash.
fs::path temporary_path_of(const fs::path& checkpoints, const CheckpointPart& part) {
  return checkpoints / fmt::format(".{}.tmp-{}-{}", name_checkpoint_folder(part.step), part.number, part.name);
}

// Has the digest of a complete part. It appears in one step, after the part.
fs::path digest_path_of(const fs::path& part) { return part.string() + ".xxh128"; }

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, Retention retention, const fs::path& resumed_from)
    : folder_(std::move(folder)), retention_(std::move(retention)) {
  TENON_CHECK(retention_.keep >= 1 && retention_.keep_best >= 1,
              "keep is " << retention_.keep << ", keep_best " << retention_.keep_best);
  remove_leftovers(folder_, ErrorKind::checkpoint);
  remove_copied_checkpoints(folder_);
  const auto checkpoints = list_checkpoint_folders(folder_);
  if (checkpoints.empty()) return;
  point_at(kLatest, checkpoints.front());
  read_scores(checkpoints);
  std::vector<fs::path> kept = find_best(checkpoints);
  if (!kept.empty()) point_at(kBest, kept.front());
  if (resumed_from.empty()) return;
  kept.push_back(resumed_from);  // a newer checkpoint may be damaged
  remove_surplus(checkpoints, kept);
}

// A manifest that cannot be read is an error, because its checkpoint may be the best, and would be removed.
void CheckpointStore::read_scores(const std::vector<fs::path>& checkpoints) {
  if (retention_.metric.empty()) return;
  for (const fs::path& path : checkpoints) {
    const fs::path file = path / kManifestFile;
    std::error_code unknown;
    const fs::file_status status = fs::status(file, unknown);
    if (fs::status_known(status) && !fs::is_regular_file(status)) continue;  // incomplete
    const std::string text = read_manifest_text(path);
    try {
      remember_score(path, parse_checkpoint_manifest(text, file).metrics);
    } catch (const support::Error&) {  // damaged
    }
  }
}

void CheckpointStore::remember_score(const fs::path& checkpoint, const NamedMetrics& metrics) {
  scores_.erase(checkpoint);
  for (const auto& [name, value] : metrics)
    if (name == retention_.metric && !std::isnan(value))
      scores_[checkpoint] = retention_.is_larger_better ? -value : value;
}

// Returns the best checkpoints, best first. Among equals the earlier comes first. Does not read the manifests again.
std::vector<fs::path> CheckpointStore::find_best(const std::vector<fs::path>& checkpoints) const {
  std::vector<std::pair<double, fs::path>> found;
  for (auto path = checkpoints.rbegin(); path != checkpoints.rend(); ++path)
    if (const auto score = scores_.find(*path); score != scores_.end()) found.emplace_back(score->second, *path);
  std::ranges::stable_sort(found, {}, &std::pair<double, fs::path>::first);
  std::vector<fs::path> best;
  for (auto& [value, path] : found)
    if (static_cast<int64_t>(best.size()) < retention_.keep_best) best.push_back(std::move(path));
  return best;
}

void CheckpointStore::point_at(const char* link, const fs::path& checkpoint) const {
  std::error_code ignored;  // a missing link is handled like a wrong one, as is a file
  if (fs::read_symlink(folder_ / link, ignored) != checkpoint.filename()) link_checkpoint(folder_ / link, checkpoint);
}

fs::path CheckpointStore::write(const CheckpointContents& contents) {
  TENON_CHECK(contents.parts.ranks == 1 || contents.parts.is_abandoned != nullptr, "nothing ends the wait for parts");
  TENON_CHECK(contents.epoch >= 0 && contents.step >= 0, "epoch " << contents.epoch << ", step " << contents.step);
  const std::string name = name_checkpoint_folder(contents.step);
  const bool can_be_resumed = !contents.state.empty();
  if (!can_be_resumed && support::path_exists(folder_ / name)) return folder_ / name;
  require_space(folder_, contents);
  DurableFolder folder(folder_ / name, ErrorKind::checkpoint);
  CheckpointManifest manifest{.epoch = contents.epoch,
                              .step = contents.step,
                              .metrics = contents.metrics,
                              .files = {},
                              .state = contents.state,
                              .class_names = contents.class_names,
                              .excluded = contents.excluded};
  const auto write_tensors = [&](const std::string& file, std::span<const TensorView> tensors,
                                 const Metadata& metadata) {
    const fs::path path = folder.temporary() / file;
    std::string digest = write_safetensors(path, tensors, metadata, ErrorKind::checkpoint, SyncedBy::containing_folder);
    manifest.files.push_back({file, support::read_file_size(path, ErrorKind::checkpoint), std::move(digest)});
  };
  const Metadata metadata = make_weights_metadata(contents.class_names, contents.model_sizes, contents.fitted_data);
  const auto model_files =
      contents.parts.has_model ? std::vector{contents.model} : divide_model(contents.model, contents.most_model_bytes);
  const auto count = contents.parts.has_model ? contents.parts.ranks : static_cast<int64_t>(model_files.size());
  for (size_t i = 0; i < model_files.size(); ++i)
    write_tensors(count == 1 ? kModelFile : name_model_part(static_cast<int64_t>(i), count), model_files[i], metadata);
  if (!contents.training.empty()) write_tensors(kTrainingFile, contents.training, make_weights_metadata());
  const auto write_unlisted_text = [&folder](const std::string& file, const std::string& text) {
    write_file_durably(folder.temporary() / file, text, ErrorKind::checkpoint, SyncedBy::containing_folder);
  };
  const auto write_text = [&](const std::string& file, const std::string& text) {
    write_unlisted_text(file, text);
    manifest.files.push_back({file, text.size(), support::xxh128(text)});
  };
  for (const auto& [file, text] : contents.texts) write_text(file, text);
  const auto take_part = [&](int64_t rank, const std::string& file) {
    manifest.files.push_back(take_checkpoint_part(folder_, {contents.step, contents.parts.number, rank, file},
                                                  folder.temporary(), *contents.parts.is_abandoned));
  };
  for (int64_t rank = 1; rank < contents.parts.ranks; ++rank) {
    if (contents.parts.has_model) take_part(rank, name_model_part(rank, count));
    take_part(rank, name_training_part(rank));
  }
  if (count > 1) write_text(kModelIndex, index_model(folder.temporary(), manifest.files));
  const std::string text = format_checkpoint_manifest(manifest);
  write_unlisted_text(kManifestFile, text);
  write_unlisted_text(kManifestDigestFile, format_manifest_digest(text));
  folder.commit();
  link_checkpoint(folder_ / kLatest, name);
  remember_score(folder_ / name, contents.metrics);
  const std::vector<fs::path> checkpoints = list_checkpoint_folders(folder_);
  const std::vector<fs::path> best = find_best(checkpoints);
  if (!best.empty()) point_at(kBest, best.front());
  if (can_be_resumed) remove_surplus(checkpoints, best);
  return folder_ / name;
}

void CheckpointStore::remove_surplus(const std::vector<fs::path>& checkpoints,
                                     const std::vector<fs::path>& kept) const {
  const auto latest = find_linked_checkpoint(folder_, kLatest);
  for (size_t i = checkpoints.size(); i-- > static_cast<size_t>(retention_.keep);) {
    const fs::path& path = checkpoints[i];
    if (path != latest && std::ranges::find(kept, path) == kept.end())
      remove_folder_durably(path, ErrorKind::checkpoint);
  }
}

std::string name_training_part(int64_t rank) { return fmt::format("{}{}{}", kPartPrefix, rank, kPartSuffix); }

bool is_training_part(std::string_view name) {
  if (!name.starts_with(kPartPrefix) || !name.ends_with(kPartSuffix)) return false;
  const std::string_view rank = name.substr(kPartPrefix.size(), name.size() - kPartPrefix.size() - kPartSuffix.size());
  return !rank.empty() && rank.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string name_content(std::string_view name) {
  if (is_model_file(name)) return kModelFile;
  return name == kTrainingFile || is_training_part(name) ? kTrainingFile : "";
}

void write_checkpoint_part(const fs::path& checkpoints, const CheckpointPart& part,
                           std::span<const TensorView> tensors) {
  const fs::path path = temporary_path_of(checkpoints, part);
  const std::string digest =
      write_safetensors(path, tensors, make_weights_metadata(), kPartErrors, SyncedBy::containing_folder);
  sync_path(path, kPartErrors);
  write_file_durably(digest_path_of(path), digest, kPartErrors);
}

CheckpointFile take_checkpoint_part(const fs::path& checkpoints, const CheckpointPart& part, const fs::path& folder,
                                    const std::atomic<bool>& is_abandoned) {
  const fs::path path = temporary_path_of(checkpoints, part), digest_path = digest_path_of(path);
  while (!support::path_exists(digest_path)) {
    if (is_abandoned)
      throw support::Error(kPartErrors,
                           "{}: rank {} has not written {}; the checkpoint is not complete and was removed",
                           (checkpoints / name_checkpoint_folder(part.step)).string(), part.rank, part.name);
    std::this_thread::sleep_for(kPartPollInterval);
  }
  CheckpointFile entry{part.name, support::read_file_size(path, kPartErrors),
                       support::read_file(digest_path, {kPartErrors, "the digest of a part", kMostManifestBytes})};
  std::error_code error;
  fs::rename(path, folder / entry.name, error);
  if (error) throw make_file_error(kPartErrors, path, "cannot be moved into the checkpoint", error.value());
  fs::remove(digest_path, error);  // otherwise the next run removes it
  return entry;
}

}  // namespace tenon::artifacts
