// Allocations and copies.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "tests/cuda_standin/runtime/memory.h"
#include "tests/cuda_standin/runtime/settings.h"
#include "tests/cuda_standin/runtime/streams.h"

#define API extern "C" __attribute__((visibility("default")))

using namespace tenon::standin;

namespace {

bool is_host(const void* address) { return !device_of(address); }

std::vector<Access> accesses_of(const void* to, const void* from, size_t bytes) {
  return {{from, bytes, false}, {to, bytes, true}};
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaStream_t stream, const char* name) {
  if (bytes == 0) return cudaSuccess;
  log(std::string(name) + ": " + std::to_string(bytes) + " bytes");
  void* const target = host_address(to);
  const void* const source = host_address(from);
  Work work{name, accesses_of(to, from, bytes), [=] { std::memmove(target, source, bytes); }, {}};
  if (is_host(to) && is_pinned(to)) {
    // The host sees the copy only when it has waited for it.
    auto contents = std::make_shared<std::string>();
    work.run = [=] {
      contents->assign(static_cast<const char*>(source), bytes);
      std::memset(target, 0xff, bytes);
    };
    work.complete = [=] { std::memcpy(target, contents->data(), bytes); };
  } else if (is_host(from) && is_pinned(from)) {
    auto contents = std::make_shared<size_t>();
    const auto hash = [=] { return std::hash<std::string_view>()({static_cast<const char*>(source), bytes}); };
    work.run = [=] {
      std::memcpy(target, source, bytes);
      *contents = hash();
    };
    work.complete = [=] {
      if (hash() != *contents)
        report(std::string(name) + ": the host has changed pinned memory before the device has copied it");
    };
  }
  const bool blocks = (is_host(to) && !is_pinned(to)) || (is_host(from) && !is_pinned(from));
  if (const cudaError_t error = submit(stream, std::move(work))) return error;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (const cudaError_t error = cudaStreamIsCapturing(stream, &status)) return error;
  if (blocks && is_host(to) && status == cudaStreamCaptureStatusNone) return wait_for(stream, name);
  return cudaSuccess;
}

}  // namespace

API cudaError_t cudaMalloc(void** address, size_t bytes) {
  if (const cudaError_t error = check_call("cudaMalloc")) return error;
  const bool is_refused = settings().recorded_allocations_fail && is_any_stream_recording();
  *address = is_refused ? nullptr : memory_of(current_device).allocate(bytes);
  log("cudaMalloc: " + std::to_string(bytes) + " bytes");
  return *address ? cudaSuccess : fail(cudaErrorMemoryAllocation, "cudaMalloc");
}

API cudaError_t cudaFree(void* address) {
  if (!address) return cudaSuccess;
  if (const cudaError_t error = check_call("cudaFree")) return error;
  complete_all();
  const auto device = device_of(address);
  if (!device || !memory_of(*device).free(address)) return fail(cudaErrorInvalidValue, "cudaFree");
  return cudaSuccess;
}

API cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t) { return cudaMalloc(address, bytes); }
API cudaError_t cudaFreeAsync(void* address, cudaStream_t) { return cudaFree(address); }

API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  const DeviceMemory& memory = memory_of(current_device);
  *free_bytes = memory.limit() - memory.used();
  *total = memory.limit();
  return cudaSuccess;
}

// Graphs allocate no memory here.
API cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  *static_cast<size_t*>(value) = 0;
  return cudaSuccess;
}

API cudaError_t cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType, void*) { return cudaSuccess; }

API cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  if (const cudaError_t error = check_call("cudaHostAlloc")) return error;
  *address = allocate_pinned(bytes);
  return *address ? cudaSuccess : fail(cudaErrorMemoryAllocation, "cudaHostAlloc");
}

API cudaError_t cudaFreeHost(void* address) {
  if (const cudaError_t error = check_call("cudaFreeHost")) return error;
  complete_all();
  free_pinned(address);
  return cudaSuccess;
}

API cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned) {
  register_pinned(address, bytes);
  return cudaSuccess;
}

API cudaError_t cudaHostUnregister(void* address) {
  complete_all();
  unregister_pinned(address);
  return cudaSuccess;
}

API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  if (const auto device = device_of(address)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = *device;
    attributes->devicePointer = const_cast<void*>(address);
  } else if (is_pinned(address)) {
    attributes->type = cudaMemoryTypeHost;
    attributes->hostPointer = attributes->devicePointer = const_cast<void*>(address);
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -2;
  }
  return cudaSuccess;
}

API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return copy(to, from, bytes, stream, "cudaMemcpyAsync");
}

API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t error = check_call("cudaMemcpy")) return error;
  if (const cudaError_t error = copy(to, from, bytes, nullptr, "cudaMemcpy")) return error;
  return wait_for(nullptr, "cudaMemcpy");
}

API cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, stream, "cudaMemcpyPeerAsync");
}

API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                  size_t height, cudaMemcpyKind, cudaStream_t stream) {
  char* const target = static_cast<char*>(host_address(to));
  const char* const source = static_cast<const char*>(host_address(from));
  const size_t bytes = height == 0 ? 0 : std::max(to_pitch, from_pitch) * (height - 1) + width;
  return submit(stream, Work{"cudaMemcpy2DAsync",
                             accesses_of(to, from, bytes),
                             [=] {
                               for (size_t i = 0; i < height; ++i)
                                 std::memcpy(target + i * to_pitch, source + i * from_pitch, width);
                             },
                             {}});
}

API cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) { return cudaSuccess; }

API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  void* const target = host_address(to);
  return submit(stream, Work{"cudaMemsetAsync", {{to, bytes, true}}, [=] { std::memset(target, value, bytes); }, {}});
}

API cudaError_t cudaMemset(void* to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }

API cudaError_t cudaGetSymbolAddress(void** address, const void*) { return cudaMalloc(address, size_t{1} << 20); }

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) { return cudaSuccess; }
API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

// Memory of other processes.
API cudaError_t cudaIpcCloseMemHandle(void*) { return fail(cudaErrorNotSupported, "cudaIpcCloseMemHandle"); }
API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return fail(cudaErrorNotSupported, "cudaIpcGetEventHandle");
}
API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return fail(cudaErrorNotSupported, "cudaIpcGetMemHandle");
}
API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return fail(cudaErrorNotSupported, "cudaIpcOpenEventHandle");
}
API cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return fail(cudaErrorNotSupported, "cudaIpcOpenMemHandle");
}
