// Memory, streams, events and recordings of the stand-in.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/cuda_standin/standin.h"
#include "tests/cuda_standin/tests/child_process.h"

namespace runtime_test {
namespace {

using namespace tenon::standin;
using namespace tenon::standin::tests;

constexpr size_t kBytes = 1024;

char* allocate(size_t bytes = kBytes) {
  void* address = nullptr;
  REQUIRE(cudaMalloc(&address, bytes) == cudaSuccess);
  return static_cast<char*>(address);
}

char* allocate_pinned() {
  void* address = nullptr;
  REQUIRE(cudaHostAlloc(&address, kBytes, 0) == cudaSuccess);
  return static_cast<char*>(address);
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess);
  return stream;
}

cudaEvent_t record(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
  return event;
}

// Work that sets all bytes.
cudaError_t write(cudaStream_t stream, char* memory, int value = 1, size_t bytes = kBytes) {
  return submit(stream, "a write", {{memory, bytes, true}}, [=] { std::memset(host_address(memory), value, bytes); });
}
cudaError_t read(cudaStream_t stream, const char* memory, size_t bytes = kBytes) {
  return submit(stream, "a read", {{memory, bytes, false}}, {});
}

bool are_all(const char* memory, int value) {
  return std::all_of(memory, memory + kBytes, [&](char byte) { return byte == static_cast<char>(value); });
}

void check_silent(const Outcome& outcome) {
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "");
}

void check_reports(const Outcome& outcome, const std::string& report) {
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "CUDA stand-in: " + report + "\n");
}

// A recording with one write.
struct Recording {
  char* memory = allocate();
  cudaStream_t stream = make_stream();
  explicit Recording(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    REQUIRE(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
    REQUIRE(write(stream, memory, 5) == cudaSuccess);
  }
  cudaGraph_t graph = nullptr;
  cudaError_t end() { return cudaStreamEndCapture(stream, &graph); }
};

}  // namespace

TEST_CASE("the host copies the memory of a device, but cannot read or write it") {
  char* const memory = allocate();
  std::array<char, kBytes> contents{};
  contents.fill(3);
  CHECK(cudaMemcpy(memory, contents.data(), kBytes, cudaMemcpyDefault) == cudaSuccess);
  contents.fill(0);
  CHECK(cudaMemcpy(contents.data(), memory, kBytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(are_all(contents.data(), 3));
  CHECK(run_child([&] { _exit(*static_cast<volatile char*>(memory)); }).exit_code == 128 + SIGSEGV);
  CHECK(run_child([&] { *static_cast<volatile char*>(memory) = 1; }).exit_code == 128 + SIGSEGV);
}

TEST_CASE("fresh memory of a device is NaN, also where other memory was freed") {
  for (int repeat = 0; repeat < 2; ++repeat) {
    char* const memory = allocate();
    std::array<float, kBytes / sizeof(float)> values{};
    CHECK(cudaMemcpy(values.data(), memory, kBytes, cudaMemcpyDefault) == cudaSuccess);
    CHECK(std::ranges::all_of(values, [](float value) { return std::isnan(value); }));
    CHECK(cudaMemset(memory, 0, kBytes) == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);
    CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  }
}

TEST_CASE("work on two streams without a wait is a race") {
  char* const memory = allocate();
  const cudaStream_t first = make_stream(), second = make_stream();
  const std::string end = " on another stream, which it does not wait for";
  const auto run = [&](auto one, auto other) {
    return run_child([&] {
      one(first);
      other(second);
    });
  };
  const auto writes = [&](cudaStream_t stream) { write(stream, memory); };
  const auto reads = [&](cudaStream_t stream) { read(stream, memory); };
  check_reports(run(writes, reads), "race: a read reads memory that a write writes" + end);
  check_reports(run(reads, writes), "race: a write writes memory that a read reads" + end);
  check_reports(run(writes, writes), "race: a write writes memory that a write writes" + end);
  check_silent(run(reads, reads));
  check_silent(run(writes, [&](cudaStream_t) { read(first, memory); }));
  // A part of the memory, and the bytes next to it.
  check_reports(run(writes, [&](cudaStream_t stream) { read(stream, memory + kBytes - 1, 1); }),
                "race: a read reads memory that a write writes" + end);
  check_silent(run([&](cudaStream_t stream) { write(stream, memory, 1, kBytes / 2); },
                   [&](cudaStream_t stream) { read(stream, memory + kBytes / 2, kBytes / 2); }));
}

TEST_CASE("work on two streams with a wait is no race") {
  char* const memory = allocate();
  const cudaStream_t first = make_stream(), second = make_stream();
  const auto run = [&](auto wait) {
    return run_child([&] {
      write(first, memory);
      wait();
      read(second, memory);
    });
  };
  check_silent(run([&] { cudaStreamWaitEvent(second, record(first), 0); }));
  check_silent(run([&] {
    const cudaStream_t between = make_stream();
    cudaStreamWaitEvent(between, record(first), 0);
    cudaStreamWaitEvent(second, record(between), 0);
  }));
  check_silent(run([&] { cudaStreamSynchronize(first); }));
  check_silent(run([&] { cudaEventSynchronize(record(first)); }));
  check_silent(run([&] { cudaDeviceSynchronize(); }));
  check_silent(run([&] {
    const cudaEvent_t event = record(first);
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
  }));
  // These waits are for other work.
  for (const auto& wait : std::vector<std::function<void()>>{
           [&] { cudaStreamSynchronize(second); },
           [&] { cudaStreamWaitEvent(first, record(second), 0); },
           [&] { cudaEventQuery(record(first)); },
       })
    CHECK(run(wait).output.starts_with("CUDA stand-in: race: a read reads"));
}

TEST_CASE("a copy to pinned memory arrives when the host has waited for it") {
  char* const memory = allocate();
  char* const pinned = allocate_pinned();
  const cudaStream_t stream = make_stream();
  const auto copy = [&](int value) {
    std::memset(pinned, 0, kBytes);
    CHECK(write(stream, memory, value) == cudaSuccess);
    CHECK(cudaMemcpyAsync(pinned, memory, kBytes, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(are_all(pinned, 0xff));
  };
  copy(1);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(are_all(pinned, 1));
  copy(2);
  const cudaEvent_t after = record(stream);
  CHECK(cudaStreamSynchronize(make_stream()) == cudaSuccess);
  CHECK(are_all(pinned, 0xff));
  CHECK(cudaEventSynchronize(after) == cudaSuccess);
  CHECK(are_all(pinned, 2));
  copy(3);
  const cudaEvent_t event = record(stream);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(are_all(pinned, 0xff));
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(are_all(pinned, 3));
}

TEST_CASE("the host must not change pinned memory before the device has copied it") {
  char* const memory = allocate();
  char* const pinned = allocate_pinned();
  const cudaStream_t stream = make_stream();
  std::memset(pinned, 1, kBytes);
  const auto run = [&](auto wait) {
    return run_child([&] {
      cudaMemcpyAsync(memory, pinned, kBytes, cudaMemcpyDefault, stream);
      wait();
      pinned[7] = 2;
      cudaStreamSynchronize(stream);
    });
  };
  check_reports(run([] {}), "cudaMemcpyAsync: the host has changed pinned memory before the device has copied it");
  check_silent(run([&] { cudaStreamSynchronize(stream); }));
}

TEST_CASE("an event is not ready at its first query, unless the host has waited for the work before it") {
  const cudaStream_t stream = make_stream();
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4) == cudaSuccess);
  const auto submit = [&] { CHECK(cudaMemsetAsync(memory, 0, 4, stream) == cudaSuccess); };
  submit();
  const cudaEvent_t event = record(stream);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  submit();
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  submit();
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("recorded work runs at each launch of its graph, and not before") {
  Recording recording;
  const auto read_byte = [&] {
    char byte = 0;
    CHECK(cudaMemcpy(&byte, recording.memory, 1, cudaMemcpyDefault) == cudaSuccess);
    return byte;
  };
  REQUIRE(recording.end() == cudaSuccess);
  CHECK(read_byte() == static_cast<char>(0xff));
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiateWithFlags(&executable, recording.graph, 0) == cudaSuccess);
  for (int launch = 0; launch < 2; ++launch) {
    CHECK(cudaMemset(recording.memory, 0, kBytes) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGraphLaunch(executable, recording.stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(recording.stream) == cudaSuccess);
    CHECK(read_byte() == 5);
  }
}

TEST_CASE("a call that waits or allocates fails while a stream is recorded, and ends the recording") {
  using Call = std::function<cudaError_t(Recording&)>;
  void* address = nullptr;
  cudaEvent_t before = record(make_stream());
  const std::vector<std::pair<cudaError_t, Call>> calls{
      {cudaErrorStreamCaptureUnsupported, [](Recording& one) { return cudaStreamSynchronize(one.stream); }},
      {cudaErrorStreamCaptureUnsupported, [](Recording& one) { return cudaStreamQuery(one.stream); }},
      {cudaErrorStreamCaptureUnsupported, [](Recording&) { return cudaDeviceSynchronize(); }},
      {cudaErrorStreamCaptureUnsupported, [&](Recording&) { return cudaEventSynchronize(before); }},
      {cudaErrorStreamCaptureUnsupported, [&](Recording&) { return cudaMalloc(&address, kBytes); }},
      {cudaErrorStreamCaptureUnsupported, [&](Recording&) { return cudaHostAlloc(&address, kBytes, 0); }},
      {cudaErrorStreamCaptureUnsupported, [](Recording& one) { return cudaFree(one.memory); }},
      {cudaErrorStreamCaptureIsolation, [&](Recording& one) { return cudaStreamWaitEvent(one.stream, before, 0); }},
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    Recording recording;
    CHECK(calls[i].second(recording) == calls[i].first);
    CHECK(write(recording.stream, recording.memory) == cudaErrorStreamCaptureInvalidated);
    CHECK(recording.end() == cudaErrorStreamCaptureInvalidated);
    CHECK(recording.graph == nullptr);
    CHECK(write(recording.stream, recording.memory) == cudaSuccess);
  }
  cudaGetLastError();
}

TEST_CASE("the mode of a recording and of a thread decides which calls are allowed") {
  void* address = nullptr;
  Recording relaxed(cudaStreamCaptureModeRelaxed);
  CHECK(cudaMalloc(&address, kBytes) == cudaSuccess);
  CHECK(relaxed.end() == cudaSuccess);

  Recording recording;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(cudaMalloc(&address, kBytes) == cudaSuccess);
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(recording.end() == cudaSuccess);

  const auto of_another_thread = [](auto call) {
    cudaError_t error = cudaSuccess;
    std::thread([&] { error = call(); }).join();
    return error;
  };
  const auto allocate_elsewhere = [&] { return of_another_thread([&] { return cudaMalloc(&address, kBytes); }); };
  Recording of_thread(cudaStreamCaptureModeThreadLocal);
  CHECK(allocate_elsewhere() == cudaSuccess);
  CHECK(of_another_thread([&] { return of_thread.end(); }) == cudaErrorStreamCaptureWrongThread);
  CHECK(of_thread.end() == cudaSuccess);
  Recording global;
  CHECK(allocate_elsewhere() == cudaErrorStreamCaptureUnsupported);
  CHECK(global.end() == cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_CASE("the default stream waits for streams that do not refuse this, so it cannot be used while one is recorded") {
  char* const memory = allocate();
  cudaStream_t blocking = nullptr;
  REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(write(nullptr, memory) == cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);

  Recording recording(cudaStreamCaptureModeRelaxed);
  CHECK(write(nullptr, memory) == cudaSuccess);
  CHECK(recording.end() == cudaSuccess);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) == cudaErrorStreamCaptureUnsupported);
  cudaGetLastError();
}

TEST_CASE("a recording that ends before it waits for a stream that joined it fails") {
  const cudaStream_t other = make_stream();
  CHECK(write(other, allocate()) == cudaSuccess);  // work before the recording does not count
  Recording recording;
  CHECK(cudaStreamWaitEvent(other, record(recording.stream), 0) == cudaSuccess);
  SUBCASE("without work") { CHECK(recording.end() == cudaSuccess); }
  SUBCASE("with work") {
    CHECK(write(other, recording.memory) == cudaSuccess);
    CHECK(recording.end() == cudaErrorStreamCaptureUnjoined);
    CHECK(recording.graph == nullptr);
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  CHECK(cudaStreamIsCapturing(other, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
  cudaGetLastError();
}

TEST_CASE("a stream joins a recording by an event") {
  Recording recording;
  const cudaStream_t other = make_stream();
  const cudaEvent_t forked = record(recording.stream);
  CHECK(cudaStreamWaitEvent(other, forked, 0) == cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK(cudaStreamIsCapturing(other, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(write(other, recording.memory) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(recording.stream, record(other), 0) == cudaSuccess);
  CHECK(recording.end() == cudaSuccess);
  size_t count = 0;
  CHECK(cudaGraphGetNodes(recording.graph, nullptr, &count) == cudaSuccess);
  CHECK(count == 2);
  CHECK(cudaStreamIsCapturing(other, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
}

TEST_CASE("child: after the second work the device has failed" * doctest::skip()) {
  char* const memory = allocate();
  const auto expected = static_cast<cudaError_t>(std::stoi(std::getenv("TEST_EXPECTED_ERROR")));
  CHECK(write(nullptr, memory) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(write(nullptr, memory) == cudaSuccess);  // the launch succeeds
  void* address = nullptr;
  for (int repeat = 0; repeat < 2; ++repeat) {
    CHECK(cudaDeviceSynchronize() == expected);
    CHECK(write(nullptr, memory) == expected);
    CHECK(cudaMalloc(&address, kBytes) == expected);
    CHECK(cudaGetLastError() == expected);
  }
}

TEST_CASE("a failure is reported by a later call and every call after it") {
  for (const cudaError_t error : {cudaErrorAssert, cudaErrorIllegalAddress}) {
    run_case("child: after the second work*", {{"TENON_STANDIN_FAIL_AT", "2"},
                                               {"TENON_STANDIN_ERROR", std::to_string(error)},
                                               {"TEST_EXPECTED_ERROR", std::to_string(error)}});
  }
}

TEST_CASE("child: a device of 8 MiB" * doctest::skip()) {
  size_t free_bytes = 0, total = 0;
  void* address = nullptr;
  char* const memory = allocate(size_t{6} << 20);
  CHECK(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess);
  CHECK(free_bytes == size_t{2} << 20);
  CHECK(total == size_t{8} << 20);
  CHECK(cudaMalloc(&address, size_t{4} << 20) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaMalloc(&address, size_t{8} << 20) == cudaSuccess);
}

TEST_CASE("an allocation that does not fit fails") {
  run_case("child: a device of 8 MiB", {{"TENON_STANDIN_MEMORY_MIB", "8"}});
}

TEST_CASE("child: work on the second device that reads memory of the first" * doctest::skip()) {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 2);
  char* const memory = allocate();
  const cudaStream_t stream = make_stream();
  CHECK(cudaSetDevice(1) == cudaSuccess);
  CHECK(write(stream, memory) == cudaErrorInvalidResourceHandle);
  CHECK(read(nullptr, memory) == cudaSuccess);  // the launch succeeds
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

TEST_CASE("work cannot access the memory of another device") {
  CHECK(run_case("child: work on the second device*", {{"TENON_STANDIN_DEVICES", "2"}})
            .starts_with("CUDA stand-in: a read: runs on device 1, but accesses memory of device 0\n"));
}

}  // namespace runtime_test
