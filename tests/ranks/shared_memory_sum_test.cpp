#include "framework/distributed/collectives/shared_memory_sum.h"

#include <csignal>
#include <cstring>

#include "framework/distributed/collectives/process_group.h"
#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace shared_memory_sum_test {

using namespace tenon::distributed;
using namespace std::chrono_literals;

namespace {

constexpr auto kTimeout = 2000ms;

// Returns values for which the sum depends on the order of summation.
at::Tensor values_of(int64_t rank, int64_t count, at::ScalarType dtype) {
  at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(100 * count + rank));
  return (at::randn({count}, generator) * (rank == 1 ? 1e4 : 1)).to(dtype);
}

// Sums in the order of the ranks, two-byte types in float32.
at::Tensor expected_sum(int64_t ranks, int64_t count, at::ScalarType dtype) {
  const at::ScalarType wide = dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
  at::Tensor sum = values_of(0, count, dtype).to(wide);
  for (int64_t rank = 1; rank < ranks; ++rank) sum = sum + values_of(rank, count, dtype).to(wide);
  return sum.to(dtype);
}

bool has_same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && (a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0);
}

std::vector<std::string> in_ranks(int64_t size, const std::function<std::string(SharedMemorySum&, int64_t)>& body) {
  return run_ranks(size, [&](const World& world) {
    ProcessGroup group(world, {}, nullptr);
    const auto sum = SharedMemorySum::make(group, kTimeout);
    const std::string text = sum ? body(*sum, group.rank()) : "no memory is shared";
    if (text == "all right") group.barrier();
    return text;
  });
}

}  // namespace

TEST_CASE("sums over shared memory equal a sum in the order of the ranks bit for bit") {
  for (const int64_t ranks : {2, 3, 4})
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      CAPTURE(ranks);
      CAPTURE(dtype);
      // Less than a slot, whole slots, and enough to reuse slots, with several pending sums at once.
      const std::vector<int64_t> counts{1, 0, 65536, 65537, 131072, 1'000'003};
      const auto ends = in_ranks(ranks, [&](SharedMemorySum& sum, int64_t rank) -> std::string {
        std::vector<at::Tensor> tensors;
        std::vector<c10::intrusive_ptr<c10::ivalue::Future>> pending;
        for (const int64_t count : counts) {
          tensors.push_back(values_of(rank, count, dtype));
          pending.push_back(sum.start({tensors.back()}));
        }
        for (size_t i = 0; i < counts.size(); ++i) {
          pending[i]->wait();
          if (pending[i]->hasError()) return pending[i]->tryRetrieveErrorMessage();
          if (!pending[i]->value().toTensorVector()[0].is_same(tensors[i])) return "another tensor";
          if (!has_same_bits(tensors[i], expected_sum(ranks, counts[i], dtype)))
            return "wrong sum of " + std::to_string(counts[i]);
        }
        return "all right";
      });
      for (const std::string& end : ends) CHECK(end == "all right");
    }
}

TEST_CASE("a rank that has ended and a rank that does not respond are reported") {
  for (const bool is_gone : {true, false}) {
    CAPTURE(is_gone);
    const auto ends = in_ranks(2, [&](SharedMemorySum& sum, int64_t rank) -> std::string {
      if (rank == 1 && is_gone) raise(SIGKILL);
      if (rank == 1) std::this_thread::sleep_for(kTimeout * 2);
      if (rank == 1) return "late";
      const at::Tensor tensor = at::ones({1'000'000});
      const auto first = sum.start({tensor}), second = sum.start({tensor});
      first->wait();
      second->wait();
      if (!second->hasError()) return "no error in the second sum";
      return first->hasError() ? first->tryRetrieveErrorMessage() : "no error";
    });
    CHECK(ends[0].find(is_gone ? "rank 1 has ended" : "rank 1 did not respond within 2000 ms") != std::string::npos);
  }
}

TEST_CASE("only dense floating-point CPU tensors are supported") {
  CHECK(SharedMemorySum::can_add(at::ones({2})));
  CHECK_FALSE(SharedMemorySum::can_add(at::ones({2}, at::kLong)));
  CHECK_FALSE(SharedMemorySum::can_add(at::ones({2}, at::kComplexFloat)));
}

}  // namespace shared_memory_sum_test
