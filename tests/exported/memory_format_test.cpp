// Tests which exported models keep the memory format of their export. tests/parity/make_strided.py writes the archives.
#include <torch/types.h>

#include "framework/pipeline/build/memory_format.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"

namespace memory_format_test {

using namespace tenon::exported;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

Model open_strided(const std::string& name) {
  return open_archive(archive_folder().parent_path() / "exported_strided" / (name + ".pt2"));
}

at::Tensor evaluate(const Model& model, const at::Tensor& image) {
  const torch::NoGradGuard no_gradients;
  tenon::components::StepContext context;
  context.training = false;
  return model.forward(context, {image}).at(0);
}

void make_channels_last(const Model& model) {
  for (const NamedTensor& named : model.tensors())
    if (named.tensor.dim() == 4) at::Tensor(named.tensor).set_data(named.tensor.detach().contiguous(kChannelsLast));
}

}  // namespace

TEST_CASE("a model that depends on strides, or has no convolution, needs contiguous tensors") {
  for (const char* name : {"image_view", "image_as_strided", "weight_view", "channel_shuffle", "no_convolution"}) {
    CAPTURE(name);
    CHECK(open_strided(name).needs_contiguous());
  }
}

TEST_CASE("any other model computes the same with the channels innermost") {
  for (const char* name : {"flattened", "pooled_view", "token_view"}) {
    CAPTURE(name);
    const Model model = open_strided(name);
    CHECK_FALSE(model.needs_contiguous());
    torch::manual_seed(5);
    const at::Tensor image = torch::randn({5, 3, 6, 6});
    const at::Tensor expected = evaluate(model, image);
    make_channels_last(model);
    // Sums of at most 144 products of float32 in another order: 144 * 2^-24 of sums of magnitude 1 to 10.
    CHECK(torch::allclose(evaluate(model, image.contiguous(kChannelsLast)), expected, 1e-4, 1e-4));
  }
}

TEST_CASE("a view that fails names the memory format") {
  const Model model = open_strided("image_view");
  make_channels_last(model);
  CHECK_THROWS_WITH_AS(evaluate(model, torch::randn({5, 3, 6, 6}).contiguous(kChannelsLast)),
                       doctest::Contains("with train.memory_format = \"channels_last\", images and weights have other"),
                       tenon::support::Error);
}

TEST_CASE("the architectures of torchvision, timm and transformers with convolutions keep the faster format") {
  for (const char* name : {"resnet", "densenet", "efficientnet", "deeplab", "convnext", "vit", "swin"}) {
    CAPTURE(name);
    CHECK_FALSE(open_archive(archive_folder().parent_path() / "exported_architectures" / (std::string(name) + ".pt2"))
                    .needs_contiguous());
  }
}

}  // namespace memory_format_test
