#include "tests/cuda_standin/runtime/streams.h"

#include <algorithm>
#include <array>
#include <set>

#include "tests/cuda_standin/runtime/memory.h"
#include "tests/cuda_standin/runtime/settings.h"

#define API extern "C" __attribute__((visibility("default")))

namespace tenon::standin {

std::recursive_mutex mutex;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<int> device_failure{0};
thread_local int current_device = 0;

namespace {

thread_local int shadows = 0;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
thread_local std::set<Capture*> begun_captures;  // recordings that this thread has begun
std::set<Capture*> captures;                     // of all threads
unsigned long long capture_ids = 0;
int64_t submitted = 0;
Clock host_clock;  // what the host has waited for
Races races;

std::array<CUstream_st, 8>& default_streams() {
  static auto* const made = [] {
    auto* streams = new std::array<CUstream_st, 8>;
    for (size_t i = 0; i < streams->size(); ++i) (*streams)[i].device = static_cast<int>(i);
    return streams;
  }();
  return *made;
}

bool is_default(const CUstream_st& stream) {
  return &stream >= default_streams().data() && &stream < default_streams().data() + default_streams().size();
}

std::set<CUstream_st*>& streams() {
  static auto* const made = [] {
    auto* all = new std::set<CUstream_st*>;
    for (CUstream_st& stream : default_streams()) all->insert(&stream);
    return all;
  }();
  return *made;
}

bool is_complete(const Clock& clock) {
  return std::ranges::all_of(clock, [](const auto& entry) {
    const auto known = host_clock.find(entry.first);
    return known != host_clock.end() && known->second >= entry.second;
  });
}

// The host now sees the results of the work up to the clock.
void complete(const Clock& clock) {
  join(host_clock, clock);
  for (const auto& [key, number] : clock) {
    auto* const stream = static_cast<CUstream_st*>(const_cast<void*>(key));
    if (!streams().contains(stream)) continue;
    while (!stream->pending.empty() && stream->pending.front().number <= number) {
      const std::function<void()> complete = std::move(stream->pending.front().complete);
      stream->pending.pop_front();
      complete();
    }
  }
}

cudaError_t failure(const char* name) {
  return device_failure ? fail(static_cast<cudaError_t>(device_failure.load()), name) : cudaSuccess;
}

cudaError_t run(CUstream_st& stream, Work work) {
  join(stream.clock, host_clock);
  const uint64_t number = ++stream.clock[&stream];
  for (const Access& access : work.accesses)
    if (const auto device = device_of(access.begin);
        device && *device != stream.device && !work.name.starts_with("cudaMemcpy")) {
      report(work.name + ": runs on device " + std::to_string(stream.device) + ", but accesses memory of device " +
             std::to_string(*device));
      device_failure = cudaErrorIllegalAddress;
      return cudaSuccess;
    }
  if (const std::string race = races.add(&stream, stream.clock, work.name, work.accesses); !race.empty()) report(race);
  if (work.run) work.run();
  if (work.complete) stream.pending.push_back({number, std::move(work.complete)});
  return cudaSuccess;
}

}  // namespace

cudaError_t fail(cudaError_t error, const std::string& call) {
  log(call + ": " + cudaGetErrorName(error));
  return last_error = error;
}

CUstream_st& stream_of(cudaStream_t stream) {
  const bool is_named = stream && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
  return is_named ? *stream : default_streams()[static_cast<size_t>(current_device)];
}

cudaError_t check_call(const char* name) {
  if (const cudaError_t error = failure(name)) return error;
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const std::lock_guard lock(mutex);
  Capture* broken = nullptr;
  for (Capture* const capture : begun_captures)
    if (capture->mode != cudaStreamCaptureModeRelaxed) broken = capture;
  if (thread_mode == cudaStreamCaptureModeGlobal)
    for (Capture* const capture : captures)
      if (capture->mode == cudaStreamCaptureModeGlobal) broken = capture;
  if (!broken) return cudaSuccess;
  broken->is_valid = false;
  return fail(cudaErrorStreamCaptureUnsupported, name);
}

bool is_any_stream_recording() {
  const std::lock_guard lock(mutex);
  return !captures.empty();
}

cudaError_t check_stream(cudaStream_t stream, const char* name) {
  const std::lock_guard lock(mutex);
  if (Capture* const capture = stream_of(stream).capture) {
    capture->is_valid = false;
    return fail(cudaErrorStreamCaptureUnsupported, name);
  }
  return check_call(name);
}

cudaError_t submit(cudaStream_t handle, Work work) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = failure(work.name.c_str())) return error;
  CUstream_st& stream = stream_of(handle);
  if (stream.device != current_device)
    return fail(cudaErrorInvalidResourceHandle, work.name + ": the stream belongs to another device");
  // An error of a kernel is reported by a later call.
  const bool is_counted = settings().fail_device < 0 || settings().fail_device == current_device;
  if (settings().fail_at > 0 && is_counted && ++submitted >= settings().fail_at) device_failure = settings().error;
  if (Capture* const capture = stream.capture) {
    if (!capture->is_valid) return fail(cudaErrorStreamCaptureInvalidated, work.name);
    if (shadows > 0) return cudaSuccess;
    capture->graph->work.push_back(std::move(work));
    stream.captured = ++stream.clock[&stream];
    return cudaSuccess;
  }
  if (is_default(stream))
    for (Capture* const other : captures)
      if (!(other->origin->flags & cudaStreamNonBlocking)) {
        other->is_valid = false;
        return fail(cudaErrorStreamCaptureImplicit, work.name);
      }
  return run(stream, std::move(work));
}

cudaError_t submit(cudaStream_t stream, const std::string& name, std::vector<Access> accesses,
                   std::function<void()> work) {
  return submit(stream, Work{name, std::move(accesses), std::move(work), {}});
}

cudaError_t wait_for(cudaStream_t stream, const char* name) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = check_stream(stream, name)) return error;
  complete(stream_of(stream).clock);
  return cudaSuccess;
}

void complete_all() {
  const std::lock_guard lock(mutex);
  for (CUstream_st* const stream : streams()) complete(stream->clock);
}

cudaError_t wait_for_all(const char* name) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = check_call(name)) return error;
  complete_all();
  return cudaSuccess;
}

Shadow::Shadow() { ++shadows; }
Shadow::~Shadow() { --shadows; }

}  // namespace tenon::standin

using namespace tenon::standin;

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  const std::lock_guard lock(mutex);
  *stream = new CUstream_st{flags, priority, current_device};
  streams().insert(*stream);
  return cudaSuccess;
}

API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

// Its work completes first.
API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  complete(stream->clock);
  streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

API cudaError_t cudaStreamQuery(cudaStream_t stream) { return wait_for(stream, "cudaStreamQuery"); }
API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return wait_for(stream, "cudaStreamSynchronize"); }
API cudaError_t cudaDeviceSynchronize() { return wait_for_all("cudaDeviceSynchronize"); }

API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = failure("cudaStreamWaitEvent")) return error;
  CUstream_st& stream = stream_of(handle);
  if (event->capture && captures.contains(event->capture) && !stream.capture)
    stream.capture = event->capture;  // the stream joins the recording
  if (!event->capture && stream.capture && event->is_recorded) {
    stream.capture->is_valid = false;  // waits for work outside of the recording
    return fail(cudaErrorStreamCaptureIsolation, "cudaStreamWaitEvent");
  }
  join(stream.clock, event->clock);
  return cudaSuccess;
}

API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  return submit(stream, Work{"cudaStreamAddCallback", {}, [=] { callback(stream, cudaSuccess, data); }, {}});
}

API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(mutex);
  const CUstream_st& stream = stream_of(handle);
  if (is_default(stream))
    for (Capture* const other : captures)
      if (!(other->origin->flags & cudaStreamNonBlocking))
        return fail(cudaErrorStreamCaptureImplicit, "cudaStreamIsCapturing");
  *status = !stream.capture            ? cudaStreamCaptureStatusNone
            : stream.capture->is_valid ? cudaStreamCaptureStatusActive
                                       : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                         cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                         const cudaGraphEdgeData** edges, size_t* count) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = cudaStreamIsCapturing(stream, status)) return error;
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  const Capture& capture = *stream_of(stream).capture;
  if (id) *id = capture.id;
  if (graph) *graph = reinterpret_cast<cudaGraph_t>(capture.graph);
  if (nodes) *nodes = nullptr;
  if (edges) *edges = nullptr;
  if (count) *count = 0;
  return cudaSuccess;
}

API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

API cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = failure("cudaStreamBeginCapture")) return error;
  CUstream_st& stream = stream_of(handle);
  if (is_default(stream)) return fail(cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture");
  if (stream.capture) return fail(cudaErrorIllegalState, "cudaStreamBeginCapture");
  stream.capture = new Capture{++capture_ids, mode, &stream, new Graph};
  captures.insert(stream.capture);
  begun_captures.insert(stream.capture);
  return cudaSuccess;
}

API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex);
  Capture* const capture = stream_of(stream).capture;
  *graph = nullptr;
  if (!capture) return fail(cudaErrorIllegalState, "cudaStreamEndCapture");
  if (capture->mode != cudaStreamCaptureModeRelaxed && !begun_captures.contains(capture))
    return fail(cudaErrorStreamCaptureWrongThread, "cudaStreamEndCapture");
  bool is_joined = true;  // whether the stream waits for the work of those that joined the recording
  for (CUstream_st* const other : streams()) {
    if (other->capture != capture) continue;
    is_joined &= other == capture->origin || capture->origin->clock[other] >= other->captured;
    other->capture = nullptr;
    other->captured = 0;
  }
  captures.erase(capture);
  begun_captures.erase(capture);
  if (!capture->is_valid) {
    delete capture->graph;
    return fail(cudaErrorStreamCaptureInvalidated, "cudaStreamEndCapture");
  }
  if (!is_joined) {
    delete capture->graph;
    return fail(cudaErrorStreamCaptureUnjoined, "cudaStreamEndCapture");
  }
  *graph = reinterpret_cast<cudaGraph_t>(capture->graph);
  return cudaSuccess;
}

API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = reinterpret_cast<Graph*>(graph)->work.size();
  return cudaSuccess;
}

API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, size_t* count) {
  *count = 0;
  return cudaSuccess;
}

API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) { return cudaSuccess; }

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}

API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}

API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}

API cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = failure("cudaGraphLaunch")) return error;
  for (const Work& work : reinterpret_cast<Graph*>(executable)->work)
    if (const cudaError_t error = submit(stream, work)) return error;
  return cudaSuccess;
}

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{!(flags & cudaEventDisableTiming)};
  return cudaSuccess;
}

API cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = failure("cudaEventRecord")) return error;
  CUstream_st& stream = stream_of(handle);
  join(stream.clock, host_clock);
  event->is_recorded = true;
  event->queries = 0;
  event->capture = stream.capture;
  event->clock = stream.clock;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}

API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

// The device is busy at the first query, unless the host has waited for this work already.
API cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = check_call("cudaEventQuery")) return error;
  if (event->capture && captures.contains(event->capture)) {
    event->capture->is_valid = false;
    return fail(cudaErrorCapturedEvent, "cudaEventQuery");
  }
  if (!event->is_recorded) return cudaSuccess;
  if (event->queries++ == 0 && !is_complete(event->clock)) return fail(cudaErrorNotReady, "cudaEventQuery");
  complete(event->clock);
  return cudaSuccess;
}

API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  if (const cudaError_t error = check_call("cudaEventSynchronize")) return error;
  ++event->queries;
  complete(event->clock);
  return cudaSuccess;
}

API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  if (!first->has_timing || !second->has_timing || !first->is_recorded || !second->is_recorded)
    return fail(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime");
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return cudaSuccess;
}
