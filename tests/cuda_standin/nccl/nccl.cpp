// A stand-in for libnccl.so.2: collectives of processes on one machine, through shared memory. A call returns when the
// collective is complete.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_standin/standin.h"

#define API extern "C" __attribute__((visibility("default")))

using namespace tenon::standin;

namespace {

constexpr size_t kCapacity = size_t{256} << 20;  // bytes of each rank; the kernel provides memory as it is used
constexpr size_t kPage = 4096;
constexpr std::chrono::seconds kLimit(120);

struct Shared {
  std::atomic<int> arrived, round, is_aborted;
};

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    default: return 8;
  }
}

}  // namespace

struct ncclComm {
  int rank, size;
  Shared* shared;
  char* buffers;

  char* buffer(int of) const { return buffers + static_cast<size_t>(of) * kCapacity; }

  // Returns false if another rank does not arrive.
  bool wait_for_all() const {
    const int round = shared->round;
    if (++shared->arrived == size) {
      shared->arrived = 0;
      ++shared->round;
      return true;
    }
    const auto end = std::chrono::steady_clock::now() + kLimit;
    for (int i = 0; shared->round == round; ++i) {
      if (shared->is_aborted || std::chrono::steady_clock::now() > end) return false;
      // On a busy machine, a thread that yields may run again before the others do.
      if (i < 100)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
};

namespace {

float from_bfloat16(uint16_t value) {
  const uint32_t bits = uint32_t{value} << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

uint16_t to_bfloat16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Elements `first` to `first + count` of all ranks, in the order of the ranks.
template <class Stored, class Number, class Load, class Store>
void reduce_as(ncclRedOp_t op, const ncclComm& comm, size_t first, size_t count, void* to, Load load, Store store) {
  for (size_t i = 0; i < count; ++i) {
    const auto element = [&](int rank) { return load(reinterpret_cast<const Stored*>(comm.buffer(rank))[first + i]); };
    Number sum = element(0);
    for (int rank = 1; rank < comm.size; ++rank) {
      const Number value = element(rank);
      switch (op) {
        case ncclMax: sum = std::max(sum, value); break;
        case ncclMin: sum = std::min(sum, value); break;
        case ncclProd: sum *= value; break;
        default: sum += value;
      }
    }
    if (op == ncclAvg) sum /= static_cast<Number>(comm.size);
    static_cast<Stored*>(to)[i] = store(sum);
  }
}

template <class Number>
void reduce_as(ncclRedOp_t op, const ncclComm& comm, size_t first, size_t count, void* to) {
  const auto same = [](Number value) { return value; };
  reduce_as<Number, Number>(op, comm, first, count, to, same, same);
}

void reduce(ncclDataType_t type, ncclRedOp_t op, const ncclComm& comm, size_t first, size_t count, void* to) {
  switch (type) {
    case ncclFloat32: return reduce_as<float>(op, comm, first, count, to);
    case ncclFloat64: return reduce_as<double>(op, comm, first, count, to);
    case ncclInt64: return reduce_as<int64_t>(op, comm, first, count, to);
    case ncclInt32: return reduce_as<int32_t>(op, comm, first, count, to);
    case ncclUint8: return reduce_as<uint8_t>(op, comm, first, count, to);
    case ncclInt8: return reduce_as<int8_t>(op, comm, first, count, to);
    case ncclBfloat16: return reduce_as<uint16_t, float>(op, comm, first, count, to, from_bfloat16, to_bfloat16);
    case ncclFloat16:
      return reduce_as<_Float16, float>(
          op, comm, first, count, to, [](_Float16 value) { return static_cast<float>(value); },
          [](float value) { return static_cast<_Float16>(value); });
    default: report("NCCL reduces elements of the unknown type " + std::to_string(type));
  }
}

struct Transfer {
  bool sends;
  char* memory;
  size_t bytes;
  int peer;
  cudaStream_t stream;
};

// Calls between ncclGroupStart() and ncclGroupEnd() run at its end.
thread_local int groups = 0;
thread_local std::vector<std::function<ncclResult_t()>> grouped;
thread_local ncclComm* transfers_of = nullptr;
thread_local std::vector<Transfer> transfers;

ncclResult_t check(cudaError_t error) { return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError; }

// `from`: bytes that the other ranks read, null: none. `receive`: runs when they are there.
ncclResult_t exchange(ncclComm* comm, cudaStream_t stream, const char* name, const void* from, size_t bytes, void* to,
                      size_t to_bytes, std::function<void()> receive) {
  const auto run = [=] {
    if (bytes > kCapacity) {
      report(std::string(name) + ": " + std::to_string(bytes) + " bytes are too many for the stand-in");
      return ncclInvalidArgument;
    }
    if (from) std::memcpy(comm->buffer(comm->rank), host_address(from), bytes);
    if (!comm->wait_for_all()) return ncclRemoteError;
    receive();
    if (!comm->wait_for_all()) return ncclRemoteError;
    std::vector<Access> accesses;
    if (from) accesses.push_back({from, bytes, false});
    if (to) accesses.push_back({to, to_bytes, true});
    return check(submit(stream, name, std::move(accesses), {}));
  };
  if (groups == 0) return run();
  grouped.emplace_back(run);
  return ncclSuccess;
}

// Each rank writes a table of offsets and sizes for the other ranks, then what it sends.
ncclResult_t run_transfers() {
  if (transfers.empty()) return ncclSuccess;
  const std::vector<Transfer> all = std::exchange(transfers, {});
  const ncclComm& comm = *transfers_of;
  struct Place {
    size_t offset, bytes;
  };
  auto* const table = reinterpret_cast<Place*>(comm.buffer(comm.rank));
  std::memset(table, 0, kPage);
  size_t offset = kPage;
  for (const Transfer& transfer : all) {
    if (!transfer.sends) continue;
    if (offset + transfer.bytes > kCapacity) return ncclInvalidArgument;
    std::memcpy(comm.buffer(comm.rank) + offset, host_address(transfer.memory), transfer.bytes);
    table[transfer.peer] = {offset, transfer.bytes};
    offset += (transfer.bytes + 63) / 64 * 64;
  }
  if (!comm.wait_for_all()) return ncclRemoteError;
  for (const Transfer& transfer : all) {
    if (!transfer.sends) {
      const char* const buffer = comm.buffer(transfer.peer);
      const Place place = reinterpret_cast<const Place*>(buffer)[comm.rank];
      if (place.bytes != transfer.bytes) {
        comm.shared->is_aborted = 1;
        report("ncclRecv of " + std::to_string(transfer.bytes) + " bytes, but " + std::to_string(place.bytes) +
               " were sent");
        return ncclInvalidUsage;
      }
      std::memcpy(host_address(transfer.memory), buffer + place.offset, transfer.bytes);
    }
    const char* const name = transfer.sends ? "ncclSend" : "ncclRecv";
    const ncclResult_t result =
        check(submit(transfer.stream, name, {{transfer.memory, transfer.bytes, !transfer.sends}}, {}));
    if (result != ncclSuccess) return result;
  }
  return comm.wait_for_all() ? ncclSuccess : ncclRemoteError;
}

ncclResult_t add_transfer(ncclComm* comm, Transfer transfer) {
  transfers_of = comm;
  transfers.push_back(transfer);
  return groups > 0 ? ncclSuccess : run_transfers();
}

}  // namespace

API ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

API ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/tenon-standin-%08x%08x", random(), random());
  return ncclSuccess;
}

API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config && config->magic != 0xcafebeef) {
    report("ncclConfig_t is not initialised, or of another version of NCCL");
    return ncclInvalidArgument;
  }
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  const size_t bytes = kPage + static_cast<size_t>(size) * kCapacity;
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return ncclSystemError;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  *comm = new ncclComm{rank, size, static_cast<Shared*>(memory), static_cast<char*>(memory) + kPage};
  if (!(*comm)->wait_for_all()) return ncclRemoteError;
  if (rank == 0) shm_unlink(id.internal);
  return ncclSuccess;
}
API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, size, id, rank, nullptr);
}
API ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int, ncclUniqueId* ids,
                                          ncclConfig_t* config) {
  return ncclCommInitRankConfig(comm, size, ids[0], rank, config);
}
API ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
API ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->shared->is_aborted = 1;
  return ncclSuccess;
}
API ncclResult_t ncclCommCount(const ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
API ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
API const char* ncclGetErrorString(ncclResult_t) { return "an error of the stand-in for NCCL"; }
API const char* ncclGetLastError(ncclComm_t) { return ""; }

API ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  return exchange(comm, stream, "ncclAllReduce", from, bytes, to, bytes,
                  [=] { reduce(type, op, *comm, 0, count, host_address(to)); });
}
API ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                            ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  const bool is_root = comm->rank == root;
  return exchange(comm, stream, "ncclReduce", from, bytes, is_root ? to : nullptr, bytes, [=] {
    if (is_root) reduce(type, op, *comm, 0, count, host_address(to));
  });
}
API ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                   ncclComm_t comm, cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  return exchange(comm, stream, "ncclReduceScatter", from, bytes * static_cast<size_t>(comm->size), to, bytes,
                  [=] { reduce(type, op, *comm, count * static_cast<size_t>(comm->rank), count, host_address(to)); });
}
API ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                               cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  return exchange(comm, stream, "ncclBroadcast", comm->rank == root ? from : nullptr, bytes, to, bytes,
                  [=] { std::memcpy(host_address(to), comm->buffer(root), bytes); });
}
API ncclResult_t ncclBcast(void* memory, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}
API ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                               cudaStream_t stream) {
  const size_t bytes = count * size_of(type);
  return exchange(comm, stream, "ncclAllGather", from, bytes, to, bytes * static_cast<size_t>(comm->size), [=] {
    for (int rank = 0; rank < comm->size; ++rank)
      std::memcpy(static_cast<char*>(host_address(to)) + bytes * static_cast<size_t>(rank), comm->buffer(rank), bytes);
  });
}
API ncclResult_t ncclSend(const void* memory, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream) {
  return add_transfer(comm, {true, static_cast<char*>(const_cast<void*>(memory)), count * size_of(type), peer, stream});
}
API ncclResult_t ncclRecv(void* memory, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream) {
  return add_transfer(comm, {false, static_cast<char*>(memory), count * size_of(type), peer, stream});
}

API ncclResult_t ncclGroupStart() {
  ++groups;
  return ncclSuccess;
}
API ncclResult_t ncclGroupEnd() {
  if (--groups > 0) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (const auto& run : std::exchange(grouped, {}))
    if (const ncclResult_t of_this = run(); of_this != ncclSuccess) result = of_this;
  const ncclResult_t of_transfers = run_transfers();
  return of_transfers != ncclSuccess ? of_transfers : result;
}
