// Compares the gradients of strided 1 x 1 convolutions in channels_last with those of the contiguous format, and the
// gradients of biases with their definition.
#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <string>
#include <vector>

#include "framework/operators/batch_norm.h"
#include "tests/doctest_with_torch.h"

namespace convolution_backward_test {

namespace {

using at::Tensor;

// Memory with a guard after each block, which is checked when the block is freed.
class GuardedMemory final : public c10::Allocator {
 public:
  static inline int overwritten = 0;  // blocks with a guard that was written to

  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
    const size_t whole = (kHeader + bytes + kGuard + kHeader - 1) / kHeader * kHeader;
    auto* const block = static_cast<unsigned char*>(std::aligned_alloc(kHeader, whole));
    std::memcpy(block, &bytes, sizeof bytes);
    std::memset(block + kHeader + bytes, kMark, kGuard);
    return {block + kHeader, block + kHeader, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static constexpr size_t kHeader = 64, kGuard = 65536;
  static constexpr unsigned char kMark = 0xA5;

  static void release(void* memory) {
    if (!memory) return;
    auto* const block = static_cast<unsigned char*>(memory) - kHeader;
    size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    const unsigned char* const guard = block + kHeader + bytes;
    if (std::any_of(guard, guard + kGuard, [](unsigned char byte) { return byte != kMark; })) ++overwritten;
    std::free(block);
  }
};

// Frees tensors before the allocator changes back.
class WithGuards {
 public:
  WithGuards() : before_(c10::GetAllocator(c10::kCPU)) { c10::SetAllocator(c10::kCPU, &memory_, 255); }
  ~WithGuards() { c10::SetAllocator(c10::kCPU, before_, 255); }
  WithGuards(const WithGuards&) = delete;
  WithGuards& operator=(const WithGuards&) = delete;

 private:
  static inline GuardedMemory memory_;
  c10::Allocator* before_;
};

struct Case {
  int64_t channels, outputs, size, batch, stride, groups;
  bool has_bias;
  int threads = 1;
};

std::vector<Tensor> gradients_of(const Case& one, at::MemoryFormat format) {
  torch::manual_seed(1);
  const auto make = [&](at::IntArrayRef shape) { return torch::randn(shape).contiguous(format).requires_grad_(); };
  const Tensor input = make({one.batch, one.channels, one.size, one.size});
  const Tensor weight = make({one.outputs, one.channels / one.groups, 1, 1});
  const Tensor bias = one.has_bias ? torch::randn({one.outputs}).requires_grad_() : Tensor();
  const Tensor output = at::convolution(input, weight, bias, {one.stride, one.stride}, {0, 0}, {1, 1},
                                        /*transposed=*/false, {0, 0}, one.groups);
  std::vector<Tensor> inputs{input, weight};
  if (one.has_bias) inputs.push_back(bias);
  return torch::autograd::grad({output}, inputs, {torch::randn(output.sizes()).contiguous(format)});
}

}  // namespace

TEST_CASE("strided 1 x 1 convolutions with few channels write no memory of others, and have the right gradients") {
  // Ensures that the replaced operators are linked.
  REQUIRE((tenon::operators::batch_norm_hooks().normalise == nullptr));
  std::vector<Case> cases;
  for (const int64_t channels : {2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24})
    for (const int64_t outputs : {3, 8, 33})
      for (const int64_t size : {4, 7, 14})
        for (const int64_t stride : {2, 3}) cases.push_back({channels, outputs, size, 6, stride, 1, stride == 2});
  cases.push_back({8, 8, 8, 2, 2, 2, true});
  for (size_t i = cases.size(); i-- > 0;) {
    cases.push_back(cases[i]);
    cases.back().threads = 2;
  }
  const int threads = at::get_num_threads();
  for (const Case& one : cases) {
    at::set_num_threads(one.threads);
    CAPTURE(one.threads);
    CAPTURE(one.channels);
    CAPTURE(one.outputs);
    CAPTURE(one.size);
    CAPTURE(one.stride);
    const std::vector<Tensor> expected = gradients_of(one, at::MemoryFormat::Contiguous);
    GuardedMemory::overwritten = 0;
    std::vector<Tensor> found;
    {
      const WithGuards guards;
      std::vector<Tensor> guarded = gradients_of(one, at::MemoryFormat::ChannelsLast);
      for (const Tensor& tensor : guarded) found.push_back(tensor.to(at::kDouble));
    }
    CHECK(GuardedMemory::overwritten == 0);
    REQUIRE(found.size() == expected.size());
    // A sum of at most 294 products of normal numbers, in any order, differs by less than 294 * 294 * 2^-24.
    for (size_t i = 0; i < found.size(); ++i)
      CHECK(torch::allclose(found[i], expected[i].to(at::kDouble), 0, 294 * 294 * 0x1p-24));
  }
  at::set_num_threads(threads);
}

TEST_CASE("the bias of a transposed convolution has the right gradient") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble})
    for (const at::MemoryFormat format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous})
      for (const bool has_others : {true, false}) {
        CAPTURE(type);
        CAPTURE(has_others);
        torch::manual_seed(1);
        const auto make = [&](at::IntArrayRef shape) { return torch::randn(shape).to(type).contiguous(format); };
        const Tensor input = make({3, 5, 9, 7}).requires_grad_(has_others);
        const Tensor weight = make({5, 8, 2, 2}).requires_grad_(has_others);
        const Tensor bias = torch::randn({8}).to(type).requires_grad_();
        const Tensor output = at::conv_transpose2d(input, weight, bias, /*stride=*/2);
        const Tensor gradient = make(output.sizes());
        output.backward(gradient);
        const Tensor values = gradient.to(at::kDouble);
        // A sum of 756 values in float, rounded once more.
        const double unit = type == at::kHalf ? 0x1p-11 : type == at::kBFloat16 ? 0x1p-8 : 0;
        const Tensor bound = values.abs().sum({0, 2, 3}) * 756 * 0x1p-24 + values.sum({0, 2, 3}).abs() * unit;
        const Tensor error = (bias.grad().to(at::kDouble) - values.sum({0, 2, 3})).abs();
        CHECK((error <= bound).all().item<bool>());
        CHECK(input.grad().defined() == has_others);
        CHECK(weight.grad().defined() == has_others);
      }
}

}  // namespace convolution_backward_test
