// Operators, LibTorch's allocator and its graphs with the stand-in.
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tests/cuda_standin/tests/child_process.h"
#include "tests/doctest_with_torch.h"

namespace operators_test {
namespace {

using namespace tenon::standin::tests;

const c10::Device kCuda(c10::kCUDA, 0);

c10::cuda::CUDAStream make_stream() { return c10::cuda::getStreamFromPool(false, 0); }

bool is_race(const Outcome& outcome) { return outcome.output.starts_with("CUDA stand-in: race: "); }

}  // namespace

TEST_CASE("operators compute what they compute on the CPU") {
  torch::manual_seed(1);
  const at::Tensor a = torch::randn({3, 4}), b = torch::randn({4, 5});
  const at::Tensor product = torch::mm(a.to(kCuda), b.to(kCuda));
  CHECK(product.device() == kCuda);
  CHECK(torch::equal(product.cpu(), torch::mm(a, b)));
  at::Tensor sum = a.to(kCuda);
  sum.add_(1).t().relu_();
  CHECK(torch::equal(sum.cpu(), (a + 1).relu()));
  CHECK(torch::equal(torch::nonzero(sum).cpu(), torch::nonzero((a + 1).relu())));
}

TEST_CASE("an operator that reads memory of another stream without a wait is a race") {
  const at::Tensor tensor = torch::ones({8}, kCuda);
  c10::cuda::device_synchronize();
  const auto first = make_stream(), second = make_stream();
  const auto run = [&](auto wait) {
    return run_child([&] {
      const c10::cuda::CUDAStreamGuard guard(first);
      tensor.add_(1);
      wait();
      const c10::cuda::CUDAStreamGuard other(second);
      tensor.mul(2);
    });
  };
  CHECK(is_race(run([] {})));
  CHECK(run([&] {
          at::cuda::CUDAEvent event;
          event.record(first);
          event.block(second);
        }).output == "");
}

TEST_CASE("memory that another stream uses is reused after it, if the allocator has been notified") {
  const auto run = [](bool is_recorded) {
    return run_child([&] {
      const auto other = make_stream();
      at::Tensor tensor = torch::ones({1 << 20}, kCuda);
      const void* const address = tensor.data_ptr();
      {
        at::cuda::CUDAEvent event;
        event.record();
        event.block(other);
        const c10::cuda::CUDAStreamGuard guard(other);
        tensor.add_(1);
        if (is_recorded) tensor.record_stream(other);
      }
      tensor.reset();
      tensor = torch::zeros({1 << 20}, kCuda);
      if ((tensor.data_ptr() == address) == is_recorded) _exit(3);
    });
  };
  const Outcome recorded = run(true), forgotten = run(false);
  CHECK(recorded.exit_code == 0);
  CHECK(recorded.output == "");
  CHECK(forgotten.exit_code == 0);
  CHECK(is_race(forgotten));
}

TEST_CASE("an operator with results of another size than the CPU's, or that the CPU does not have, is reported") {
  const Outcome other_size = run_child([] {
    const at::Tensor input = torch::ones({2, 4, 8, 8}, kCuda);
    at::Tensor mean = torch::zeros({4}, kCuda);
    at::_native_batch_norm_legit(input, {}, {}, mean, mean, false, 0.1, 1e-5);
  });
  CHECK(other_size.output ==
        "CUDA stand-in: aten::_native_batch_norm_legit: the result on CUDA is Float [4], on the CPU Float [0]\n");
  const Outcome without_kernel = run_child([] {
    const at::Tensor gates = torch::ones({2, 16}, kCuda);
    at::_thnn_fused_lstm_cell(gates, gates, torch::ones({2, 4}, kCuda));
  });
  CHECK(without_kernel.output ==
        "CUDA stand-in: aten::_thnn_fused_lstm_cell: the CPU has no kernel, so its results are not computed\n");
}

TEST_CASE("a graph repeats its operators with new inputs and new random numbers") {
  const at::Tensor input = torch::ones({64}, kCuda);
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(0);
  at::Tensor doubled, noise;
  at::cuda::CUDAGraph graph;
  c10::cuda::device_synchronize();
  {
    const c10::cuda::CUDAStreamGuard guard(make_stream());
    graph.capture_begin();
    doubled = input * 2;
    noise = torch::rand({64}, kCuda);
    graph.capture_end();
  }
  c10::cuda::device_synchronize();
  const auto replay = [&] {
    graph.replay();
    c10::cuda::device_synchronize();
    return noise.cpu();
  };
  const auto seed = [&] {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(7);
  };
  seed();
  const at::Tensor first = replay();
  CHECK(doubled.cpu().eq(2).all().item<bool>());
  input.fill_(3);
  c10::cuda::device_synchronize();
  const at::Tensor second = replay();
  CHECK(doubled.cpu().eq(6).all().item<bool>());
  CHECK(!torch::equal(first, second));
  CHECK(((second >= 0) & (second < 1)).all().item<bool>());
  seed();
  CHECK(torch::equal(replay(), first));
  CHECK(torch::equal(replay(), second));
}

TEST_CASE("child: operators on tensors of two devices" * doctest::skip()) {
  const at::Tensor first = torch::ones({4}, kCuda), second = torch::ones({4}, c10::Device(c10::kCUDA, 1));
  CHECK_THROWS_WITH_AS(first + second, doctest::Contains("two devices, cuda:0 and cuda:1"), c10::Error);
  CHECK(torch::equal(second.to(kCuda), first));
}

TEST_CASE("an operator refuses tensors of two devices") {
  const std::string output = run_case("child: operators on tensors*", {{"TENON_STANDIN_DEVICES", "2"}});
  CHECK(output.find("CUDA stand-in: ") == std::string::npos);
}

}  // namespace operators_test
