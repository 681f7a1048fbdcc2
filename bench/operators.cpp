// Compares the operators that Tenon replaces (framework/operators) with LibTorch's.
//
//   benchmark_operators --threads=2 --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
//
// `attention`, `attention_backward`: in float, batch/heads/length/head size/is causal.
// `attention_bf16`: the backward in bfloat16.
// `depthwise_weight`: the gradient of the weights in float, channels/size/filter/stride, for 24 images.
// `depthwise_input`: that of the input in bfloat16.
// `cross_entropy`: forward and backward in float, samples/classes.
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_native.h>
#include <ATen/ops/convolution_backward_native.h>
#include <ATen/ops/cross_entropy_loss_native.h>
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "framework/operators/replaced_operators.h"

namespace {

using at::Tensor;
constexpr auto libtorch_attention = &at::native::_scaled_dot_product_flash_attention_cpu;
constexpr auto libtorch_attention_backward = &at::native::_scaled_dot_product_flash_attention_cpu_backward;

// Query, key, value and the gradient of the output: [batch, heads, length, head size], in the layout of a model.
std::vector<Tensor> make_attention_inputs(const benchmark::State& state, at::ScalarType type) {
  const int64_t batch = state.range(0), heads = state.range(1), length = state.range(2), size = state.range(3);
  std::vector<Tensor> parts;
  for (const Tensor& part : torch::randn({batch, length, 4 * heads * size}).to(type).split(heads * size, 2))
    parts.push_back(part.view({batch, length, heads, size}).transpose(1, 2));
  return parts;
}

template <auto Attention>
void attention(benchmark::State& state) {
  const std::vector<Tensor> in = make_attention_inputs(state, at::kFloat);
  for (auto _ : state)
    benchmark::DoNotOptimize(Attention(in[0], in[1], in[2], /*dropout=*/0, /*is_causal=*/state.range(4) != 0, {}, {}));
}

template <auto Backward, at::ScalarType Type>
void attention_backward(benchmark::State& state) {
  const std::vector<Tensor> in = make_attention_inputs(state, Type);
  const bool is_causal = state.range(4) != 0;
  const auto [output, log_sum] =
      at::_scaled_dot_product_flash_attention_for_cpu(in[0], in[1], in[2], /*dropout=*/0, is_causal);
  for (auto _ : state)
    benchmark::DoNotOptimize(Backward(in[3], in[0], in[1], in[2], output, log_sum, /*dropout=*/0, is_causal, {}, {}));
}

template <auto Backward, at::ScalarType Type, bool OfInput>
void depthwise(benchmark::State& state) {
  constexpr int64_t kImages = 24;
  const int64_t channels = state.range(0), size = state.range(1), kernel = state.range(2), stride = state.range(3);
  const auto make = [](at::IntArrayRef shape) {
    return torch::randn(shape).to(Type).contiguous(at::MemoryFormat::ChannelsLast);
  };
  const Tensor input = make({kImages, channels, size, size}), weight = make({channels, 1, kernel, kernel});
  const std::vector<int64_t> strides(2, stride), padding(2, kernel / 2), dilation(2, 1), none(2, 0);
  const Tensor output =
      at::convolution(input, weight, {}, strides, padding, dilation, /*transposed=*/false, none, channels);
  const Tensor gradient = torch::randn_like(output);
  for (auto _ : state)
    benchmark::DoNotOptimize(Backward(gradient, input, weight, {}, strides, padding, dilation, /*transposed=*/false,
                                      none, channels, {OfInput, !OfInput, false}));
}

template <auto Loss>
void cross_entropy(benchmark::State& state) {
  const int64_t samples = state.range(0), classes = state.range(1);
  const at::AutoGradMode with_gradients(true);
  const Tensor logits = torch::randn({samples, classes}).requires_grad_(), target = torch::randint(classes, {samples});
  for (auto _ : state) {
    Loss(logits, target, {}, at::Reduction::Mean, c10::SymInt(-100), /*label_smoothing=*/0).backward();
    logits.mutable_grad().reset();
  }
}

void add_attention_shapes(benchmark::internal::Benchmark* added) {
  added->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int64_t is_causal : {0, 1})
    for (const int64_t size : {16, 32, 64, 128})
      for (const int64_t length : {17, 32, 64, 128, 256, 512, 1024})
        added->Args({std::max<int64_t>(1, 2048 / length), 256 / size, length, size, is_causal});
}

void add_depthwise_shapes(benchmark::internal::Benchmark* added) {
  added->Unit(benchmark::kMillisecond)->UseRealTime();
  added->Args({576, 2, 5, 1})->Args({576, 2, 3, 1})->Args({336, 3, 5, 1})->Args({336, 3, 5, 2})->Args({240, 3, 5, 1});
  added->Args({96, 12, 5, 2})->Args({48, 24, 3, 2})->Args({16, 24, 3, 1})->Args({64, 56, 3, 1});
}

void add_cross_entropy_shapes(benchmark::internal::Benchmark* added) {
  added->Unit(benchmark::kMicrosecond)->UseRealTime();
  added->Args({32, 10})->Args({1024, 100})->Args({4096, 1000})->Args({2048, 8192})->Args({512, 50'257});
}

BENCHMARK(attention<libtorch_attention>)->Name("attention/libtorch")->Apply(add_attention_shapes);
BENCHMARK(attention<&tenon::operators::attention>)->Name("attention/tenon")->Apply(add_attention_shapes);
BENCHMARK(attention_backward<libtorch_attention_backward, at::kFloat>)
    ->Name("attention_backward/libtorch")
    ->Apply(add_attention_shapes);
BENCHMARK(attention_backward<&tenon::operators::attention_backward, at::kFloat>)
    ->Name("attention_backward/tenon")
    ->Apply(add_attention_shapes);
BENCHMARK(attention_backward<libtorch_attention_backward, at::kBFloat16>)
    ->Name("attention_bf16/libtorch")
    ->Apply(add_attention_shapes);
BENCHMARK(attention_backward<&tenon::operators::attention_backward, at::kBFloat16>)
    ->Name("attention_bf16/tenon")
    ->Apply(add_attention_shapes);
BENCHMARK(depthwise<&at::native::convolution_backward, at::kFloat, false>)
    ->Name("depthwise_weight/libtorch")
    ->Apply(add_depthwise_shapes);
BENCHMARK(depthwise<&tenon::operators::convolution_backward, at::kFloat, false>)
    ->Name("depthwise_weight/tenon")
    ->Apply(add_depthwise_shapes);
BENCHMARK(depthwise<&at::native::convolution_backward, at::kBFloat16, true>)
    ->Name("depthwise_input/libtorch")
    ->Apply(add_depthwise_shapes);
BENCHMARK(depthwise<&tenon::operators::convolution_backward, at::kBFloat16, true>)
    ->Name("depthwise_input/tenon")
    ->Apply(add_depthwise_shapes);
BENCHMARK(cross_entropy<&at::native::cross_entropy_loss_symint>)
    ->Name("cross_entropy/libtorch")
    ->Apply(add_cross_entropy_shapes);
BENCHMARK(cross_entropy<&tenon::operators::cross_entropy_loss>)
    ->Name("cross_entropy/tenon")
    ->Apply(add_cross_entropy_shapes);

}  // namespace

int main(int count, char** values) {
  const torch::NoGradGuard no_grad;
  // Freed memory is kept, as in the host.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&count, values);
  constexpr std::string_view kThreads = "--threads=";
  int threads = 1;
  for (int i = 1; i < count; ++i)
    if (std::string_view(values[i]).starts_with(kThreads)) threads = std::atoi(values[i] + kThreads.size());
  at::set_num_threads(threads);
  benchmark::RunSpecifiedBenchmarks();
}
