// A minimal hand-written LibTorch training loop: a 64-128-10 network, batches that are slices of one tensor in memory,
// softmax cross entropy, and AdamW in one call of the fused kernel. Prints microseconds per step. The images are like
// those of the dataset synthetic. A network that has learnt them has inactive units, and the AdamW averages of these
// units decay to denormal numbers. The fused kernel takes four times as long with denormal numbers.
//
//   benchmark_bare_loop STEPS [flush]    prints "FIRST_STEP" to standard error after the first step; "flush" flushes
//                                        denormal numbers to zero
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t kBatchSize = 32;
constexpr int64_t kBatches = 100;
constexpr int64_t kWarmUp = 500;
constexpr int64_t kClasses = 10;

using Clock = std::chrono::steady_clock;

class Loop {
 public:
  Loop() {
    for (const torch::Tensor& parameter : network_->parameters()) {
      parameters_.push_back(parameter);
      means_.push_back(torch::zeros_like(parameter));
      squares_.push_back(torch::zeros_like(parameter));
      steps_.push_back(torch::zeros({}));
    }
  }

  void step(int64_t number) {
    const int64_t first = number % kBatches * kBatchSize;
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    const torch::Tensor logits = network_->forward(images_.narrow(0, first, kBatchSize));
    torch::nn::functional::cross_entropy(logits, labels_.narrow(0, first, kBatchSize)).backward();
    update();
  }

 private:
  void update() {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    for (torch::Tensor& step : steps_) *step.data_ptr<float>() += 1;
    at::_fused_adamw_(parameters_, gradients, means_, squares_, {}, steps_, 1e-3, 0.9, 0.999, 0.01, 1e-8, false, false);
  }

  torch::nn::Sequential network_{torch::nn::Linear(64, 128), torch::nn::ReLU(), torch::nn::Linear(128, 10)};
  torch::Tensor labels_ = torch::randint(kClasses, {kBatches * kBatchSize});
  torch::Tensor images_ =
      (torch::randint(128, {kBatches * kBatchSize, 64}) + (labels_ * 128 / kClasses).floor().unsqueeze(1)) / 256;
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> means_;
  std::vector<torch::Tensor> squares_;
  std::vector<torch::Tensor> steps_;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 20000;
  at::globalContext().setFlushDenormal(argc > 2 && std::strcmp(argv[2], "flush") == 0);
  torch::set_num_threads(1);
  torch::manual_seed(0);
  Loop loop;
  loop.step(0);
  std::fputs("FIRST_STEP\n", stderr);
  for (int64_t i = 1; i < kWarmUp && i < steps; ++i) loop.step(i);
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < steps; ++i) loop.step(i);
  const std::chrono::duration<double, std::micro> passed = Clock::now() - begin;
  std::printf("%.3f\n", passed.count() / static_cast<double>(steps));
}
