#include "framework/profiling/trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::profiling {

namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// The profiler can only write to a file.
class ScratchFile {
 public:
  ScratchFile() : path_((support::find_temporary_folder() / "tenon-trace-XXXXXX").string()) {
    if (!mkdtemp(path_.data()))
      throw support::Error(support::ErrorKind::system, path_ + ": cannot be created: " + std::strerror(errno));
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return path_ + "/operators.json"; }

 private:
  std::string path_;
};

using Json = nlohmann::json;

Json name(const char* what, int64_t thread, const std::string& text) {
  return {{"ph", "M"}, {"name", what}, {"pid", ::getpid()}, {"tid", thread}, {"args", {{"name", text}}}};
}

}  // namespace

OperatorTrace::OperatorTrace(const c10::Device& device) {
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  // Without a CUDA device, the profiler logs an error. A level that the user has set is unchanged.
  if (device.is_cpu()) setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const ProfilerConfig config(ProfilerState::KINETO, /*report_input_shapes=*/true);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
}

OperatorTrace::~OperatorTrace() {
  if (is_on_) profiler::disableProfiler();
}

std::string OperatorTrace::stop() {
  is_on_ = false;
  const auto result = profiler::disableProfiler();
  const ScratchFile file;
  result->save(file.path());
  std::ifstream stream(file.path(), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.empty())
    throw support::Error(support::ErrorKind::system,
                         file.path() + ": LibTorch's profiler wrote an empty file; check the free space on that disk");
  return text;
}

void write_trace(const std::string& operators, const support::Timeline& timeline, uint32_t rank,
                 const std::filesystem::path& file) {
  Json trace = Json::parse(operators, nullptr, /*allow_exceptions=*/false);
  if (!trace.is_object() || !trace["traceEvents"].is_array())
    throw support::Error(support::ErrorKind::internal,
                         file.string() + ": LibTorch's profiler gave no trace; expected JSON with traceEvents");
  trace.erase("ERROR");      // messages of the profiler log
  trace.erase("traceName");  // a file that no longer exists
  const auto to_microseconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  // The times of the profiler are microseconds since a base time, which is a Unix time.
  const auto offset = std::chrono::system_clock::now().time_since_epoch() -
                      support::TimelineClock::now().time_since_epoch() -
                      std::chrono::nanoseconds(trace.value("baseTimeNanoseconds", int64_t{0}));
  Json& events = trace["traceEvents"];
  for (const support::TimelineSpan& span : timeline.spans)
    events.push_back({{"ph", "X"},
                      {"cat", "tenon"},
                      {"name", span.name},
                      {"pid", ::getpid()},
                      {"tid", span.thread},
                      {"ts", to_microseconds(span.start.time_since_epoch() + offset)},
                      {"dur", to_microseconds(span.end - span.start)}});
  for (const support::TimelineThread& thread : timeline.threads)
    events.push_back(name("thread_name", thread.thread, thread.name));
  events.push_back(name("process_name", ::getpid(), "rank " + std::to_string(rank)));
  artifacts::write_file_durably(file, trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                                support::ErrorKind::system);
}

}  // namespace tenon::profiling
