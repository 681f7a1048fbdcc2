#include "framework/profiling/write_trace.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::profiling {

namespace {

using Json = nlohmann::json;

// The times of the profiler are microseconds since a base time, which is a Unix time.
class UnixMicroseconds {
 public:
  explicit UnixMicroseconds(int64_t base_ns)
      : offset_(std::chrono::system_clock::now().time_since_epoch() - support::TimelineClock::now().time_since_epoch() -
                std::chrono::nanoseconds(base_ns)) {}

  double operator()(support::TimelineClock::time_point moment) const {
    return std::chrono::duration<double, std::micro>(moment.time_since_epoch() + offset_).count();
  }

 private:
  std::chrono::nanoseconds offset_;
};

Json name(const char* what, int64_t thread, const std::string& text) {
  return {{"ph", "M"}, {"name", what}, {"pid", ::getpid()}, {"tid", thread}, {"args", {{"name", text}}}};
}

}  // namespace

void write_trace(const std::string& operators, const support::Timeline& timeline, uint32_t rank,
                 const std::filesystem::path& file) {
  Json trace = Json::parse(operators, nullptr, /*allow_exceptions=*/false);
  if (!trace.is_object() || !trace["traceEvents"].is_array())
    throw support::Error(support::ErrorKind::internal,
                         file.string() + ": LibTorch's profiler gave no trace; expected JSON with traceEvents");
  trace.erase("ERROR");      // messages of the profiler log
  trace.erase("traceName");  // a file that no longer exists
  const UnixMicroseconds to_microseconds(trace.value("baseTimeNanoseconds", int64_t{0}));
  Json& events = trace["traceEvents"];
  for (const support::TimelineSpan& span : timeline.spans)
    events.push_back({{"ph", "X"},
                      {"cat", "tenon"},
                      {"name", span.name},
                      {"pid", ::getpid()},
                      {"tid", span.thread},
                      {"ts", to_microseconds(span.start)},
                      {"dur", std::chrono::duration<double, std::micro>(span.end - span.start).count()}});
  for (const support::TimelineThread& thread : timeline.threads)
    events.push_back(name("thread_name", thread.thread, thread.name));
  events.push_back(name("process_name", ::getpid(), "rank " + std::to_string(rank)));
  artifacts::write_file_durably(file, trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                                support::ErrorKind::system);
}

}  // namespace tenon::profiling
