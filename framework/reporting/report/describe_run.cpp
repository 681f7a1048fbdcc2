#include "framework/reporting/report/describe_run.h"

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/local_time.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/terminal/text_table.h"

namespace tenon::reporting {

namespace {

using artifacts::format_short_number;

// Returns "3 of 10 epochs" or "1 epoch". `planned`: 0 if it is not known.
std::string count_of(int64_t done, int64_t planned, const char* unit) {
  const int64_t last = planned > 0 ? planned : done;
  return group_digits(static_cast<uint64_t>(done)) +
         (planned > 0 ? " of " + group_digits(static_cast<uint64_t>(planned)) : "") + " " + unit +
         (last == 1 ? "" : "s");
}

const char* rating_of(const ReadRun& run) {
  if (run.state() == "finished") return "good";
  return run.state() == "failed" || run.state() == "crashed" ? "bad" : "neutral";
}

}  // namespace

std::string describe_place(const ReadRun& run) {
  return count_of(run.epoch(), run.planned("train.epochs"), "epoch") + ", " +
         count_of(run.step(), run.planned("train.steps"), "step");
}

std::string describe_length(const ReadRun& run) {
  const int64_t epochs = run.planned("train.epochs");
  return epochs > 0 ? count_of(run.epoch(), epochs, "epoch") : count_of(run.step(), run.planned("train.steps"), "step");
}

std::string format_local_time(const std::string& iso) {
  constexpr size_t kDate = 10, kTime = 8;
  const bool is_time = artifacts::parse_iso_8601(iso).has_value();
  return is_time ? iso.substr(0, kDate) + " " + iso.substr(kDate + 1, kTime) : iso;
}

std::string describe_device(const ReadRun& run) {
  std::string device = run.text("device");
  if (const auto used = run.record().find("accelerator"); used != run.record().end() && used->is_object())
    if (const auto name = used->find("name"); name != used->end() && name->is_string())
      device = name->get<std::string>();
  const int64_t processes = run.planned("distributed.processes");
  return processes > 1 ? device + ", " + std::to_string(processes) + " processes" : device + ", 1 process";
}

std::string name_of(const ReadRun& run) { return run.name().substr(0, run.name().find('/')); }

std::string describe_time(const ReadRun& run) {
  const std::string start = format_local_time(run.text("start"));
  return start.empty() ? run.folder().root.filename().string() : start;
}

std::string describe_best(const ReadRun& run) {
  const auto best = run.best(run.monitor());
  return best ? format_short_number(best->value) + " at step " + std::to_string(best->step) : "";
}

std::string describe_last(const ReadRun& run, const std::string& metric) {
  const auto last = run.last(metric);
  return last ? format_short_number(last->value) : "";
}

std::string format_state(const ReadRun& run) {
  return text_element("span", std::string("class=\"state ") + rating_of(run) + "\"", run.state());
}

}  // namespace tenon::reporting
