// Devices, errors and kernels.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_standin/runtime/settings.h"
#include "tests/cuda_standin/runtime/streams.h"

#define API extern "C" __attribute__((visibility("default")))

namespace tenon::standin {

void log(const std::string& line) {
  if (settings().logs) std::fprintf(stderr, "stand-in: %s\n", line.c_str());
}

void report(const std::string& fault) {
  static std::mutex reporting;
  static auto* const reported = new std::set<std::string>;
  const std::lock_guard lock(reporting);
  if (reported->insert(fault).second) std::fprintf(stderr, "CUDA stand-in: %s\n", fault.c_str());
}

}  // namespace tenon::standin

using namespace tenon::standin;

namespace {

// Kernels do nothing. Their names are for the log.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, std::string> names;
};

Kernels& kernels() {
  static auto* const made = new Kernels;
  return *made;
}

struct Configuration {
  dim3 grid, block;
  size_t shared_memory;
  cudaStream_t stream;
};

thread_local std::vector<Configuration> configurations;

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, cudaStream_t stream) {
  std::string name = "a kernel";
  {
    const std::lock_guard lock(kernels().mutex);
    if (const auto found = kernels().names.find(kernel); found != kernels().names.end()) name = found->second;
  }
  log("launch of " + name + ", " + std::to_string(grid.x) + " blocks of " + std::to_string(block.x) + " threads");
  const unsigned threads = block.x * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 || threads > 1024 || grid.y > 65535 || grid.z > 65535)
    return fail(cudaErrorInvalidConfiguration, name);
  return submit(stream, Work{name, {}, {}, {}});
}

}  // namespace

API void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
API void __cudaRegisterFatBinaryEnd(void**) {}
API void __cudaUnregisterFatBinary(void**) {}
API char __cudaInitModule(void**) { return 1; }
API void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*, void*,
                                int*) {
  const std::lock_guard lock(kernels().mutex);
  kernels().names[function] = name;
}
API void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory, CUstream_st* stream) {
  configurations.push_back({grid, block, shared_memory, stream});
  return 0;
}
API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_memory, void* stream) {
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_memory = last.shared_memory;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}
API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**, size_t, cudaStream_t stream) {
  return launch(kernel, grid, block, stream);
}
API cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void**, size_t, cudaStream_t stream) {
  return launch(kernel, grid, block, stream);
}
API cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void**, size_t,
                                            cudaStream_t stream) {
  return launch(kernel, grid, block, stream);
}
API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* kernel, void**) {
  return launch(kernel, configuration->gridDim, configuration->blockDim, configuration->stream);
}

API cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice, "cudaGetDeviceCount");
}
API cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
API cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= settings().devices) return fail(cudaErrorInvalidDevice, "cudaSetDevice");
  current_device = device;
  return cudaSuccess;
}

// The sizes of an H100.
API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "stand-in for CUDA");
  properties->major = settings().capability_major;
  properties->minor = settings().capability_minor;
  properties->totalGlobalMem = settings().memory;
  properties->sharedMemPerBlock = 49152;
  properties->sharedMemPerBlockOptin = 232448;
  properties->sharedMemPerMultiprocessor = 233472;
  properties->reservedSharedMemPerBlock = 1024;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->multiProcessorCount = 132;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 5120;
  properties->textureAlignment = 512;
  properties->texturePitchAlignment = 32;
  properties->totalConstMem = 65536;
  properties->unifiedAddressing = properties->managedMemory = properties->concurrentKernels = 1;
  properties->asyncEngineCount = 3;
  properties->canMapHostMemory = properties->cooperativeLaunch = properties->streamPrioritiesSupported = 1;
  properties->memoryPoolsSupported = 1;
  properties->pciBusID = device + 1;
  return cudaSuccess;
}

API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = properties.maxThreadsPerBlock; break;
    case cudaDevAttrMultiProcessorCount: *value = properties.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = properties.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = properties.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = properties.minor; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(properties.sharedMemPerBlock); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(properties.sharedMemPerBlockOptin); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(properties.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxGridDimX: *value = properties.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = properties.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = properties.maxGridSize[2]; break;
    case cudaDevAttrMaxBlockDimX: *value = properties.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = properties.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = properties.maxThreadsDim[2]; break;
    case cudaDevAttrWarpSize: *value = properties.warpSize; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = properties.regsPerBlock; break;
    case cudaDevAttrL2CacheSize: *value = properties.l2CacheSize; break;
    case cudaDevAttrClockRate: *value = 1980000; break;        // kHz
    case cudaDevAttrMemoryClockRate: *value = 2619000; break;  // kHz
    case cudaDevAttrCooperativeLaunch: *value = properties.cooperativeLaunch; break;
    case cudaDevAttrUnifiedAddressing: *value = properties.unifiedAddressing; break;
    case cudaDevAttrMemoryPoolsSupported: *value = properties.memoryPoolsSupported; break;
    default: *value = 0;
  }
  return cudaSuccess;
}

API cudaError_t cudaDeviceCanAccessPeer(int* can_access, int, int) {
  *can_access = 0;
  return cudaSuccess;
}
API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return fail(cudaErrorPeerAccessUnsupported, "cudaDeviceEnablePeerAccess");
}
API cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
API cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
API cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

API cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = static_cast<cudaError_t>(device_failure.load());
  return error;
}
API cudaError_t cudaPeekAtLastError() { return last_error; }

API const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorAssert: return "cudaErrorAssert";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureImplicit: return "cudaErrorStreamCaptureImplicit";
    case cudaErrorStreamCaptureUnjoined: return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation: return "cudaErrorStreamCaptureIsolation";
    case cudaErrorStreamCaptureWrongThread: return "cudaErrorStreamCaptureWrongThread";
    default: return "another CUDA error";
  }
}

// The messages of CUDA 13.
API const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorAssert: return "device-side assert triggered";
    case cudaErrorECCUncorrectable: return "uncorrectable ECC error encountered";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorStreamCaptureUnjoined: return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation: return "dependency created on uncaptured work in another stream";
    case cudaErrorIllegalState: return "the operation cannot be performed in the present state";
    default: return "unrecognized error code";
  }
}

API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 10 * settings().capability_major + settings().capability_minor;
  attributes->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}
API cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
  *blocks = 2048 / (threads > 0 ? threads : 1);
  return cudaSuccess;
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int threads,
                                                                       size_t shared_memory, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_memory);
}

// The driver's functions are those of the generated libcuda.so.1.
API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                                 cudaDriverEntryPointQueryResult* result) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  *function = driver ? dlsym(driver, name) : nullptr;
  // A driver has every function that LibTorch knows; it looks up some that it never calls.
  if (!*function) *function = reinterpret_cast<void*>(+[] { return 801; });  // CUDA_ERROR_NOT_SUPPORTED
  if (result) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
