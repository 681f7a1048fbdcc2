// Collectives of two processes. Each is a program that is started for this, because processes that fork share the
// memory of devices.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda_standin/tests/child_process.h"

namespace nccl_test {
namespace {

using namespace tenon::standin::tests;

constexpr size_t kCount = 6;
const std::vector<std::vector<double>> kValues{{1, 2, 3, 4, 5, 6}, {6, 3, 9, 2, 5, 1}};  // of each rank

struct Type {
  ncclDataType_t type;
  size_t bytes;
  std::function<void(double, void*)> store;
  std::function<double(const void*)> load;
};

template <class Number>
Type type_of(ncclDataType_t type) {
  const auto store = [](double value, void* to) {
    const auto number = static_cast<Number>(value);
    std::memcpy(to, &number, sizeof number);
  };
  const auto load = [](const void* from) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    return static_cast<double>(number);
  };
  return {type, sizeof(Number), store, load};
}

// The upper half of a float. The values here have no more bits.
Type bfloat16() {
  const auto store = [](double value, void* to) {
    const auto number = static_cast<float>(value);
    std::memcpy(to, reinterpret_cast<const char*>(&number) + 2, 2);
  };
  const auto load = [](const void* from) {
    float number = 0;
    std::memcpy(reinterpret_cast<char*>(&number) + 2, from, 2);
    return static_cast<double>(number);
  };
  return {ncclBfloat16, 2, store, load};
}

std::vector<Type> types() {
  return {type_of<float>(ncclFloat32),    type_of<double>(ncclFloat64),
          type_of<_Float16>(ncclFloat16), bfloat16(),
          type_of<int64_t>(ncclInt64),    type_of<int32_t>(ncclInt32),
          type_of<int8_t>(ncclInt8),      type_of<uint8_t>(ncclUint8)};
}

double combine(ncclRedOp_t op, double first, double second) {
  switch (op) {
    case ncclSum: return first + second;
    case ncclProd: return first * second;
    case ncclMax: return std::max(first, second);
    case ncclMin: return std::min(first, second);
    default: return (first + second) / 2;
  }
}

// One of two ranks.
struct Rank {
  int rank = std::stoi(std::getenv("TEST_RANK"));
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  void *from = nullptr, *to = nullptr;

  Rank() {
    ncclUniqueId id{};
    std::strncpy(id.internal, std::getenv("TEST_ID"), sizeof id.internal - 1);
    REQUIRE(ncclCommInitRank(&comm, 2, id, rank) == ncclSuccess);
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cudaMalloc(&from, 4096) == cudaSuccess);
    REQUIRE(cudaMalloc(&to, 4096) == cudaSuccess);
  }

  void fill(const Type& type) const {
    std::vector<char> bytes(kCount * type.bytes);
    for (size_t i = 0; i < kCount; ++i)
      type.store(kValues[static_cast<size_t>(rank)][i], bytes.data() + i * type.bytes);
    REQUIRE(cudaMemcpy(from, bytes.data(), bytes.size(), cudaMemcpyDefault) == cudaSuccess);
    REQUIRE(cudaMemset(to, 0, 4096) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }

  std::vector<double> results(const Type& type, size_t count) const {
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    std::vector<char> bytes(count * type.bytes);
    REQUIRE(cudaMemcpy(bytes.data(), to, bytes.size(), cudaMemcpyDefault) == cudaSuccess);
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(type.load(bytes.data() + i * type.bytes));
    return values;
  }
};

// Runs a test case in two processes.
std::vector<Outcome> run_ranks(const std::string& name) {
  ncclUniqueId id{};
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  const auto start = [&](const char* rank) {
    return start_case(name, {{"TEST_ID", id.internal}, {"TEST_RANK", rank}});
  };
  const Child first = start("0"), second = start("1");
  return {wait_for_child(first), wait_for_child(second)};
}

void check_ranks(const std::string& name) {
  for (const Outcome& outcome : run_ranks(name)) {
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(outcome.output.find("CUDA stand-in: ") == std::string::npos);
  }
}

}  // namespace

TEST_CASE("child: a rank of all-reduce" * doctest::skip()) {
  const Rank rank;
  for (const Type& type : types()) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
      CAPTURE(static_cast<int>(type.type));
      CAPTURE(static_cast<int>(op));
      rank.fill(type);
      std::vector<double> expected;
      std::vector<char> rounded(type.bytes);
      for (size_t i = 0; i < kCount; ++i) {
        type.store(combine(op, kValues[0][i], kValues[1][i]), rounded.data());
        expected.push_back(type.load(rounded.data()));
      }
      CHECK(ncclAllReduce(rank.from, rank.to, kCount, type.type, op, rank.comm, rank.stream) == ncclSuccess);
      CHECK(rank.results(type, kCount) == expected);
    }
  }
}

TEST_CASE("all-reduce of each dtype and operation") { check_ranks("child: a rank of all-reduce"); }

TEST_CASE("child: a rank of other collectives" * doctest::skip()) {
  const Rank rank;
  const Type type = type_of<float>(ncclFloat32);
  rank.fill(type);
  CHECK(ncclReduceScatter(rank.from, rank.to, 3, type.type, ncclSum, rank.comm, rank.stream) == ncclSuccess);
  CHECK(rank.results(type, 3) == (rank.rank == 0 ? std::vector<double>{7, 5, 12} : std::vector<double>{6, 10, 7}));
  rank.fill(type);
  CHECK(ncclAllGather(rank.from, rank.to, 2, type.type, rank.comm, rank.stream) == ncclSuccess);
  CHECK(rank.results(type, 4) == std::vector<double>{1, 2, 6, 3});
  rank.fill(type);
  CHECK(ncclBroadcast(rank.from, rank.to, kCount, type.type, 1, rank.comm, rank.stream) == ncclSuccess);
  CHECK(rank.results(type, kCount) == kValues[1]);
  rank.fill(type);
  CHECK(ncclReduce(rank.from, rank.to, kCount, type.type, ncclMax, 0, rank.comm, rank.stream) == ncclSuccess);
  CHECK(rank.results(type, 2) == (rank.rank == 0 ? std::vector<double>{6, 3} : std::vector<double>{0, 0}));
  rank.fill(type);
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(rank.from, 2, type.type, 1 - rank.rank, rank.comm, rank.stream) == ncclSuccess);
  CHECK(ncclRecv(rank.to, 2, type.type, 1 - rank.rank, rank.comm, rank.stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(rank.results(type, 2) == std::vector<double>{kValues[static_cast<size_t>(1 - rank.rank)][0],
                                                     kValues[static_cast<size_t>(1 - rank.rank)][1]});
}

TEST_CASE("other collectives") { check_ranks("child: a rank of other collectives"); }

TEST_CASE("child: a rank that receives too much" * doctest::skip()) {
  const Rank rank;
  CHECK(ncclGroupStart() == ncclSuccess);
  if (rank.rank == 0)
    CHECK(ncclSend(rank.from, 2, ncclFloat32, 1, rank.comm, rank.stream) == ncclSuccess);
  else
    CHECK(ncclRecv(rank.to, 3, ncclFloat32, 0, rank.comm, rank.stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == (rank.rank == 0 ? ncclRemoteError : ncclInvalidUsage));
}

TEST_CASE("a rank that receives another number of bytes than were sent is reported") {
  const std::vector<Outcome> ranks = run_ranks("child: a rank that receives too much");
  CHECK_MESSAGE(ranks[0].exit_code == 0, ranks[0].output);
  CHECK_MESSAGE(ranks[1].exit_code == 0, ranks[1].output);
  CHECK(ranks[1].output.starts_with("CUDA stand-in: ncclRecv of 12 bytes, but 8 were sent\n"));
}

}  // namespace nccl_test
