#include "framework/distributed/collectives/owned_tensors.h"

#include <csignal>
#include <numeric>

#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace owned_tensors_test {

using namespace tenon::distributed;

namespace {

constexpr int64_t kTensors = 9;

// Tensors of several dtypes, layouts and sizes: empty, smaller than a slot of shared memory, and larger than all slots.
std::vector<at::Tensor> make_tensors(int64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  const auto random = [&](std::vector<int64_t> shape) { return at::randn(shape, generator); };
  return {random({3, 5}),
          random({0}),
          random({700'001}),
          random({4, 3, 7, 7}).contiguous(at::MemoryFormat::ChannelsLast),
          random({65, 9}).to(at::kBFloat16),
          random({}).to(at::kDouble),
          random({6, 4}).t(),
          random({33}).to(at::kHalf),
          random({131'072})};
}

std::vector<std::string> in_ranks(int64_t size, const tenon::config::DistributedSection& plan,
                                  const std::function<std::string(ProcessGroup&, OwnedTensors&)>& body) {
  return run_in_group(size, plan, [&](ProcessGroup& group) {
    OwnedTensors owned(group, plan);
    return body(group, owned);
  });
}

// Returns "equal" if every tensor has the bits of its owner after each of several calls.
std::string gather(ProcessGroup& group, OwnedTensors& owned, const std::vector<int64_t>& owners) {
  for (int64_t call = 0; call < 3; ++call) {
    const auto seed = [&](int64_t rank) { return 100 * call + rank; };
    const std::vector<at::Tensor> tensors = make_tensors(seed(group.rank()));
    owned.gather(tensors, owners);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!at::equal(tensors[i], make_tensors(seed(owners[i]))[i])) return "tensor " + std::to_string(i) + " differs";
  }
  return "equal";
}

}  // namespace

TEST_CASE("tensors have the bits of their owners on all ranks, by shared memory and by sockets") {
  tenon::config::DistributedSection by_memory, by_sockets;
  by_sockets.backend = tenon::config::Backend::gloo;
  by_sockets.bucket_mib = 0.1;  // several messages for each owner
  for (const int64_t size : {2, 3, 4})
    for (const auto& plan : {by_memory, by_sockets}) {
      CAPTURE(size);
      std::vector<int64_t> alternating(kTensors), all_of_last(kTensors, size - 1);
      for (size_t i = 0; i < alternating.size(); ++i) alternating[i] = static_cast<int64_t>(i) % size;
      const auto texts = in_ranks(size, plan, [&](ProcessGroup& group, OwnedTensors& owned) {
        return gather(group, owned, alternating) + " " + gather(group, owned, all_of_last);
      });
      CHECK(texts == std::vector<std::string>(static_cast<size_t>(size), "equal equal"));
    }
}

TEST_CASE("a rank that is killed before it sends its tensors is named") {
  tenon::config::DistributedSection plan;
  plan.timeout_s = 60;
  const auto texts = in_ranks(3, plan, [](ProcessGroup& group, OwnedTensors& owned) {
    if (group.rank() == 2) std::raise(SIGKILL);
    return gather(group, owned, std::vector<int64_t>(kTensors, 2));
  });
  CHECK(texts[2] == "ended: signal 9");
  for (const size_t rank : {size_t{0}, size_t{1}}) CHECK(texts[rank].find("rank 2") != std::string::npos);
}

TEST_CASE("tensors are divided into shares of about the same size") {
  CHECK(assign_owners({}, 3).empty());
  CHECK(assign_owners({5, 5, 5}, 1) == std::vector<int64_t>{0, 0, 0});
  CHECK(assign_owners({1, 8, 3, 4}, 2) == std::vector<int64_t>{1, 0, 1, 1});
  CHECK(assign_owners({7, 7}, 4) == std::vector<int64_t>{0, 1});
  CHECK(assign_owners({0, 0, 9}, 2) == std::vector<int64_t>{1, 1, 0});
  std::vector<int64_t> bytes(100);
  std::iota(bytes.begin(), bytes.end(), 1);
  const std::vector<int64_t> owners = assign_owners(bytes, 3);
  std::vector<int64_t> loads(3);
  for (size_t i = 0; i < bytes.size(); ++i) loads[static_cast<size_t>(owners[i])] += bytes[i];
  for (const int64_t load : loads) CHECK(std::abs(load - 5050 / 3) <= 1);
}

}  // namespace owned_tensors_test
