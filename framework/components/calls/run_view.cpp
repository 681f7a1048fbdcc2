#include "framework/components/calls/run_view.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/components/calls/host_table.h"
#include "framework/support/files/files.h"

namespace tenon::components {
namespace {

namespace fs = std::filesystem;

static_assert(std::is_standard_layout_v<RunView> && offsetof(RunView, base) == 0,
              "of() casts the address of base to RunView");

tenon_status read(const tenon_run* run, tenon_progress* out) {
  if (!run || !out || out->size < sizeof out->size)
    return fail(TENON_INVALID_ARGUMENT, "run-progress: a null run or result, or a result without its size set");
  const RunView& view = RunView::of(run);
  const tenon_progress progress{out->size, view.total_epochs, view.step_in_epoch, view.samples_in_epoch};
  std::memcpy(out, &progress, std::min<uint64_t>(out->size, sizeof progress));
  return TENON_OK;
}

constexpr tenon_run_progress kRunProgress{sizeof(tenon_run_progress), read};

tenon_status direction(const tenon_run* run, tenon_string name, int32_t* out) {
  if (!run || !out) return fail(TENON_INVALID_ARGUMENT, "run-metrics: a null run or result");
  const RunView& view = RunView::of(run);
  return view.direction ? view.direction(run, name, out)
                        : fail(TENON_NOT_FOUND, "run-metrics: this run has no metrics");
}

constexpr tenon_run_metrics kRunMetrics{sizeof(tenon_run_metrics), direction};

tenon_status values(const tenon_run* run, const tenon_run_value** out, uint64_t* count) {
  if (!run || !out || !count) return fail(TENON_INVALID_ARGUMENT, "run-values: a null run or result");
  *out = RunView::of(run).values;
  *count = RunView::of(run).value_count;
  return TENON_OK;
}

tenon_status fail_without_description() {
  return fail(TENON_UNSUPPORTED, "run-values: a null run or result, or a run without a plan");
}

tenon_status settings(const tenon_run* run, const tenon_run_setting** out, uint64_t* count) {
  const RunDescription* const description = run ? RunView::of(run).description : nullptr;
  if (!description || !out || !count) return fail_without_description();
  *out = description->settings().data();
  *count = description->settings().size();
  return TENON_OK;
}

tenon_status describe(const tenon_run* run, tenon_run_description* out) {
  const RunDescription* const description = run ? RunView::of(run).description : nullptr;
  if (!description || !out || out->size < sizeof out->size) return fail_without_description();
  const tenon_run_description found{out->size, to_tenon(description->name()), to_tenon(description->resumed_from()),
                                    description->is_temporary() ? uint32_t{TENON_RUN_TEMPORARY} : 0,
                                    RunView::of(run).stop_signal};
  std::memcpy(out, &found, std::min<uint64_t>(out->size, sizeof found));
  return TENON_OK;
}

constexpr int kDeepestFolder = 8;  // ends a list that follows a link to a folder above it

void add_files(const fs::path& folder, const fs::path& below, int depth, std::vector<std::string>& found) {
  for (const fs::path& path : support::list_folder(folder, support::ErrorKind::system)) {
    if (path.filename().string().starts_with('.')) continue;
    if (support::is_file(path))
      found.push_back((below / path.filename()).string());
    else if (support::is_folder(path) && depth < kDeepestFolder)
      add_files(path, below / path.filename(), depth + 1, found);
  }
}

tenon_status list_run_files(tenon_string folder, void* context, void (*add)(void* context, tenon_string path)) {
  if (!add) return fail(TENON_INVALID_ARGUMENT, "run-values: a null function");
  std::vector<std::string> found;
  try {
    add_files(to_string(folder), "", 1, found);
  } catch (const std::exception& error) {
    return fail(TENON_NOT_FOUND, error.what());
  }
  for (const std::string& path : found) add(context, to_tenon(path));
  return TENON_OK;
}

constexpr tenon_run_values kRunValues{sizeof(tenon_run_values), values, settings, describe, list_run_files};

}  // namespace

RunDescription::RunDescription(std::string name, std::string resumed_from, bool is_temporary,
                               std::vector<std::pair<std::string, std::string>> settings)
    : name_(std::move(name)),
      resumed_from_(std::move(resumed_from)),
      is_temporary_(is_temporary),
      settings_(std::move(settings)) {
  for (const auto& [key, value] : settings_) borrowed_.push_back({to_tenon(key), to_tenon(value)});
}

const tenon_run_values& run_values_extension() { return kRunValues; }
const tenon_run_progress& run_progress_extension() { return kRunProgress; }
const tenon_run_metrics& run_metrics_extension() { return kRunMetrics; }

}  // namespace tenon::components
