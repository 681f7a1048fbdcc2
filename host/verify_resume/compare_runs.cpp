#include "host/verify_resume/resume_report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/components/calls/ports.h"
#include "framework/pipeline/state/stage_times.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "host/training/inspected_files.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;
using artifacts::CheckpointManifest;
using artifacts::ExcludedTensor;
using artifacts::HistoryLine;
using artifacts::TensorView;

constexpr const char* kHistory = "history.jsonl";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kFiles = "files";

// A metric of the host that starts from zero in each process.
constexpr const char* kDeviceMemory = "train/device_memory_mib";

bool is_same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

// The files and folders of the host, see docs/reference/run_folder.md.
bool is_hosts_file(const std::string& name) {
  static const std::set<std::string> kNames = {"plan.toml",     "run.json",   "log.txt",     "history.csv",
                                               "history.jsonl", "plots",      "report.html", "samples",
                                               "tracker.json",  "trace.json", "checkpoints"};
  return kNames.contains(name) || name.starts_with("events.out.tfevents.") || name.starts_with(".") ||
         (name.starts_with("git") && name.ends_with(".patch"));
}

// Adds the files in the folder and its folders, with paths relative to `root`.
void add_files(const fs::path& root, const fs::path& folder, std::set<std::string>& files) {
  for (const fs::path& path : support::list_folder(folder, support::ErrorKind::checkpoint)) {
    std::error_code error;
    if (fs::is_symlink(path, error) || (folder == root && is_hosts_file(path.filename().string()))) continue;
    if (support::is_folder(path))
      add_files(root, path, files);
    else
      files.insert(path.lexically_relative(root).string());
  }
}

// The paths, relative to the run folder, of all files that the host did not write.
std::set<std::string> list_callback_files(const fs::path& run) {
  std::set<std::string> files;
  add_files(run, run, files);
  return files;
}

bool is_callback_metric(const std::string& name) {
  return !name.starts_with("train/") && !name.starts_with("validation/");
}

bool is_time(const std::string& number) {
  if (number.starts_with("metric.")) return number == std::string("metric.") + kDeviceMemory;
  return number.ends_with("_s");
}

bool is_callbacks_number(const std::string& number) {
  if (number.starts_with("scalar.")) return true;
  return number.starts_with("metric.") && is_callback_metric(number.substr(std::string("metric.").size()));
}

std::string describe_both(const std::string& whole, const std::string& other) { return whole + " and " + other; }

// Returns an empty text if the tensors are equal.
std::string describe_difference(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return "is " + describe_both(describe_type(a), describe_type(b));
  const artifacts::TensorDifference difference = artifacts::compare_tensors(a, b);
  if (difference.differing == 0) return "";
  std::string text = reporting::group_digits(difference.differing) + " of " +
                     reporting::group_digits(difference.elements) + " values differ";
  // Bytes are states of generators and callbacks. Their differences have no meaningful size.
  if (!difference.max_ulps) return text;
  return text + fmt::format(", by {:.3g} at most ({} ulps)", difference.max_absolute,
                            reporting::group_digits(*difference.max_ulps));
}

class PairComparison {
 public:
  PairComparison(const fs::path& run, const fs::path& other) : run_{run}, other_{other} {}

  RunComparison compare() {
    compare_histories();
    const InspectedFiles files = find_inspected_files(run_.root), others = find_inspected_files(other_.root);
    const CheckpointManifest &manifest = *files.manifest, &other_manifest = *others.manifest;
    found_.step = manifest.step;
    if (manifest.step != other_manifest.step || manifest.epoch != other_manifest.epoch)
      add(kManifest, "",
          "the last checkpoints are at " + describe_both(describe_place(manifest), describe_place(other_manifest)),
          false);
    const auto compare_file = [&](const char* name) {
      return compare_tensors(name, StoredTensors(group_by_content(files)[name]),
                             StoredTensors(group_by_content(others)[name]));
    };
    found_.model_tensors =
        compare_file(artifacts::kModelFile) + compare_excluded(manifest.excluded, other_manifest.excluded);
    found_.training_tensors = compare_file(artifacts::kTrainingFile);
    compare_numbers(manifest.state, other_manifest.state);
    compare_files();
    return std::move(found_);
  }

 private:
  static std::string describe_place(const CheckpointManifest& manifest) {
    return "epoch " + std::to_string(manifest.epoch) + ", step " + std::to_string(manifest.step);
  }

  void add(const std::string& file, const std::string& name, const std::string& text, bool is_callbacks) {
    found_.differences.push_back({file, name, text, is_callbacks});
  }

  void compare_files() {
    const std::set<std::string> files = list_callback_files(run_.root), others = list_callback_files(other_.root);
    found_.files = static_cast<int64_t>(files.size());
    for (const std::string& file : files) {
      if (!others.contains(file))
        add(kFiles, file, "is missing in the other run", true);
      else if (const auto a = support::read_text(run_.root / file), b = support::read_text(other_.root / file); a != b)
        add(kFiles, file,
            fmt::format("has {} and {} bytes, and differs from byte {} on", a.size(), b.size(),
                        std::ranges::mismatch(a, b).in1 - a.begin()),
            true);
    }
    for (const std::string& file : others)
      if (!files.contains(file)) add(kFiles, file, "is in the other run alone", true);
  }

  // Compares the lines up to the first one with a different position. Reports the first difference of each metric.
  void compare_histories() {
    const std::vector<HistoryLine> lines = reporting::read_history(run_.history_jsonl());
    const std::vector<HistoryLine> others = reporting::read_history(other_.history_jsonl());
    found_.lines = static_cast<int64_t>(lines.size());
    for (size_t i = 0; i < std::min(lines.size(), others.size()); ++i) {
      const std::string place = describe(lines[i]), other_place = describe(others[i]);
      if (place != other_place)
        return add(kHistory, "", "line " + std::to_string(i + 1) + " is " + describe_both(place, other_place), false);
      compare_metrics("line " + std::to_string(i + 1) + " (" + place + "): ", lines[i].metrics, others[i].metrics,
                      lines[i].event == artifacts::HistoryEvent::test);
    }
    if (lines.size() != others.size())
      add(kHistory, "", "has " + describe_both(std::to_string(lines.size()), std::to_string(others.size())) + " lines",
          false);
  }

  static std::string describe(const HistoryLine& line) {
    return std::string(to_string(line.event)) + " at step " + std::to_string(line.step) + ", epoch " +
           std::to_string(line.epoch);
  }

  void compare_metrics(const std::string& place, const artifacts::NamedMetrics& metrics,
                       const artifacts::NamedMetrics& others, bool is_of_test) {
    const std::map<std::string, double> of_run(metrics.begin(), metrics.end());
    const std::map<std::string, double> of_other(others.begin(), others.end());
    compare(of_run, of_other, [&](const std::string& name, const std::string& text) {
      if (name != kDeviceMemory && !pipeline::is_step_time(name) && shown_.insert(name).second)
        add(kHistory, name, place + text, !is_of_test && is_callback_metric(name));
    });
  }

  int64_t compare_tensors(const std::string& name, const StoredTensors& file, const StoredTensors& other_file) {
    const auto add_tensor = [&](const std::string& tensor, const std::string& text) {
      add(name, tensor, text, name == artifacts::kTrainingFile && tensor.find(".callback.") != std::string::npos);
    };
    for (const TensorView* const tensor : file.all()) {
      const TensorView* const same = other_file.find(tensor->name);
      const std::string text = same ? describe_difference(*tensor, *same) : "is missing in the other run";
      if (!text.empty()) add_tensor(tensor->name, text);
    }
    for (const TensorView* const tensor : other_file.all())
      if (!file.find(tensor->name)) add_tensor(tensor->name, "is in the other run alone");
    return static_cast<int64_t>(file.all().size());
  }

  // Compares the digests of the frozen parameters that the checkpoints leave out.
  int64_t compare_excluded(const std::vector<ExcludedTensor>& tensors, const std::vector<ExcludedTensor>& others) {
    const auto find = [](const std::vector<ExcludedTensor>& all, const ExcludedTensor& one) {
      return std::ranges::find(all, one.name, &ExcludedTensor::name);
    };
    for (const ExcludedTensor& tensor : tensors) {
      const auto same = find(others, tensor);
      if (same == others.end())
        add(kManifest, tensor.name, "is left out, but not in the other run", false);
      else if (*same != tensor)
        add(kManifest, tensor.name, "is a frozen parameter with other values in the other run", false);
    }
    for (const ExcludedTensor& tensor : others)
      if (find(tensors, tensor) == tensors.end())
        add(kManifest, tensor.name, "is left out of the other run alone", false);
    return static_cast<int64_t>(tensors.size());
  }

  void compare_numbers(std::map<std::string, double> numbers, std::map<std::string, double> others) {
    for (auto* all : {&numbers, &others}) std::erase_if(*all, [](const auto& entry) { return is_time(entry.first); });
    found_.numbers = static_cast<int64_t>(numbers.size());
    compare(numbers, others, [&](const std::string& name, const std::string& text) {
      add(kManifest, name, text, is_callbacks_number(name));
    });
  }

  template <class Report>
  static void compare(const std::map<std::string, double>& numbers, const std::map<std::string, double>& others,
                      Report&& report_one) {
    for (const auto& [name, value] : numbers) {
      const auto same = others.find(name);
      if (same == others.end())
        report_one(name, "is missing in the other run");
      else if (!is_same(value, same->second))
        report_one(name, describe_both(artifacts::format_number(value), artifacts::format_number(same->second)));
    }
    for (const auto& [name, value] : others)
      if (!numbers.contains(name)) report_one(name, "is in the other run alone");
  }

  artifacts::RunFolder run_;
  artifacts::RunFolder other_;
  RunComparison found_;
  std::set<std::string> shown_;  // reported metrics of the history
};

}  // namespace

RunComparison compare_runs(const fs::path& run, const fs::path& other) { return PairComparison(run, other).compare(); }

}  // namespace tenon::host
