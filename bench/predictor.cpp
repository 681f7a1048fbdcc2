// Times predictions of one sample by libtenon_predictor next to the same forward with LibTorch alone, in alternation in
// one process: benchmark_predictor mlp|resnet18 MODEL.tenon THREADS. The models are those of
// docs/benchmarks/predictor.md.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <tenon/draft/predictor.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Weights of no matter which values: the time does not depend on them.
struct ConvolutionNorm {
  ConvolutionNorm(int64_t in, int64_t out, int64_t kernel, int64_t step)
      : weight(torch::randn({out, in, kernel, kernel}).mul_(0.05).contiguous(at::MemoryFormat::ChannelsLast)),
        scale(torch::ones({out})),
        shift(torch::zeros({out})),
        mean(torch::zeros({out})),
        variance(torch::ones({out})),
        stride(step),
        padding(kernel / 2) {}

  at::Tensor operator()(const at::Tensor& x) const {
    return at::batch_norm(at::conv2d(x, weight, {}, stride, padding), scale, shift, mean, variance, false, 0.1, 1e-5,
                          true);
  }

  at::Tensor weight, scale, shift, mean, variance;
  int64_t stride, padding;
};

// He et al., "Deep residual learning for image recognition", arXiv:1512.03385, with 18 layers.
struct ResNet18 {
  struct Block {
    ConvolutionNorm first, second;
    std::vector<ConvolutionNorm> shortcut;
  };

  ResNet18() : stem(3, 64, 7, 2), weight(torch::randn({1000, 512}).mul_(0.05)), bias(torch::zeros({1000})) {
    int64_t in = 64;
    for (const int64_t out : {64, 128, 256, 512})
      for (int i = 0; i < 2; ++i) {
        const int64_t stride = out != in ? 2 : 1;
        Block block{{in, out, 3, stride}, {out, out, 3, 1}, {}};
        if (out != in) block.shortcut.push_back({in, out, 1, 2});
        blocks.push_back(std::move(block));
        in = out;
      }
  }

  at::Tensor operator()(const at::Tensor& image) const {
    at::Tensor x = stem(image.contiguous(at::MemoryFormat::ChannelsLast)).relu_();
    x = at::max_pool2d(x, 3, 2, 1);
    for (const Block& block : blocks) {
      const at::Tensor before = block.shortcut.empty() ? x : block.shortcut.front()(x);
      x = block.second(block.first(x).relu_()).add_(before).relu_();
    }
    return at::linear(x.mean({2, 3}), weight, bias);
  }

  ConvolutionNorm stem;
  std::vector<Block> blocks;
  at::Tensor weight, bias;
};

struct Mlp {
  at::Tensor first = torch::randn({128, 64}).mul_(0.05), first_bias = torch::zeros({128}),
             second = torch::randn({10, 128}).mul_(0.05), second_bias = torch::zeros({10});

  at::Tensor operator()(const at::Tensor& x) const {
    return at::linear(at::linear(x.flatten(1), first, first_bias).relu_(), second, second_bias);
  }
};

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double measure(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: benchmark_predictor mlp|resnet18 MODEL.tenon THREADS\n", stderr);
    return 2;
  }
  const bool is_mlp = std::strcmp(arguments[1], "mlp") == 0;
  const int threads = std::atoi(arguments[3]);
  at::set_num_threads(threads);
  const at::NoGradGuard no_grad;
  const Mlp mlp;
  const ResNet18 resnet;
  tenon::draft::Predictor predictor({.model = arguments[2], .threads = static_cast<unsigned>(threads)});
  const std::vector<int64_t> shape = is_mlp ? std::vector<int64_t>{1, 1, 8, 8} : std::vector<int64_t>{1, 3, 224, 224};
  const std::vector<float> image(static_cast<size_t>(c10::multiply_integers(shape)), 0.5f);
  float sum = 0;  // keeps the results in use
  const auto bare = [&] {
    const at::Tensor input = at::from_blob(const_cast<float*>(image.data()), shape).clone();
    sum += (is_mlp ? mlp(input) : resnet(input)).const_data_ptr<float>()[0];
  };
  const auto with_predictor = [&] {
    const auto prediction = predictor.run(tenon::draft::InputValue::elements(image));
    sum += static_cast<const float*>(prediction.output(0).elements)[0];
  };
  const int rounds = is_mlp ? 20'000 : 150;
  std::vector<double> of_bare, of_predictor;
  for (int i = -rounds / 10; i < rounds; ++i) {
    const double one = measure(bare), other = measure(with_predictor);
    if (i < 0) continue;
    of_bare.push_back(one);
    of_predictor.push_back(other);
  }
  const double alone = median(of_bare), predicted = median(of_predictor);
  std::printf("LibTorch alone %.1f us, libtenon_predictor %.1f us: %.1f us more, %.3f x (sum %g)\n", alone, predicted,
              predicted - alone, predicted / alone, static_cast<double>(sum));
  return 0;
}
