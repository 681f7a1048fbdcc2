// Tests batch transforms against the definitions: torchvision.transforms.v2 Normalize, MixUp and CutMix.
#include "framework/pipeline/build/batch_transforms.h"

#include <cmath>
#include <set>

#include <tenon/draft/field_details.h>
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::components::SampleField;
using tenon::config::BatchTransformPlan;
using tenon::config::MixBatch;
using tenon::config::NormalizeBatch;
using tenon::support::ErrorKind;

namespace {

using Tensors = std::vector<at::Tensor>;
using Plans = std::vector<BatchTransformPlan>;

const Plans kNormalize = {{NormalizeBatch{"image", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}, "run.toml:8:1"}};

Plans mix(std::vector<std::string> methods, double alpha = 1, double p = 1) {
  return {{MixBatch{"image", "label", "target", 3, std::move(methods), alpha, p}, "run.toml:9:1"}};
}

std::vector<SampleField> byte_fields() {
  return {{"image", TENON_UINT8, {5, 4, 3}, 1, 60}, {"label", TENON_INT64, {}, 8, 8}};
}
std::vector<SampleField> float_fields() {
  return {{"image", TENON_FLOAT32, {1, 8, 10}, 4, 320}, {"label", TENON_INT64, {}, 8, 8}};
}

// Every pixel of an image is the index of its sample; labels 0, 1, 2.
Tensors make_batch() {
  const at::Tensor numbers = at::arange(3, at::kFloat).view({3, 1, 1, 1});
  return {numbers.expand({3, 1, 8, 10}).contiguous(), at::arange(3, at::kLong)};
}

Tensors transformed(const Plans& plans, uint64_t seed, bool training = true) {
  const BatchTransforms transforms(plans, float_fields());
  Tensors batch = make_batch();
  transforms.apply(batch, training, seed);
  REQUIRE(batch.size() == 3);
  CHECK(batch[2].sizes() == at::IntArrayRef{3, 3});
  CHECK(batch[2].scalar_type() == at::kFloat);
  return batch;
}

// The weight of sample 1 in its target. The neighbour is the previous sample.
double kept(const Tensors& batch) {
  const double share = batch[2][1][1].item<double>();
  CHECK(batch[2][1][0].item<double>() == doctest::Approx(1 - share));
  CHECK(batch[2][0][2].item<double>() == doctest::Approx(1 - share));  // the neighbour of the first sample is the last
  return share;
}

std::string refusal_of(const Plans& plans, const std::vector<SampleField>& fields) {
  return tenon::find_error(ErrorKind::configuration, [&] { BatchTransforms(plans, fields); });
}

// Compares values and gradients with LibTorch's.
void check_soft_cross_entropy(tenon::components::Loss& loss, double smoothing) {
  at::manual_seed(3);
  for (const int64_t samples : {1, 7, 64}) {
    CAPTURE(samples);
    at::Tensor logits = at::randn({samples, 10}, at::kDouble).mul_(4).requires_grad_();
    at::Tensor same = logits.detach().clone().requires_grad_();
    const at::Tensor target = at::softmax(at::randn({samples, 10}, at::kDouble), 1);
    const auto result = loss.forward({}, {logits, target});
    const at::Tensor expected = at::cross_entropy_loss(same, target, {}, at::Reduction::Mean, -100, smoothing);
    CHECK(result.weight == static_cast<double>(samples));
    CHECK(result.loss.item<double>() == doctest::Approx(expected.item<double>()).epsilon(1e-12));
    result.loss.backward();
    expected.backward();
    CHECK(at::allclose(logits.grad(), same.grad(), 1e-12, 1e-15));
  }
}

}  // namespace

TEST_CASE("normalize converts byte pixels to float channels") {
  const BatchTransforms transforms(kNormalize, byte_fields());
  CHECK(transforms.fields()[0].dtype == TENON_FLOAT32);
  CHECK(transforms.fields()[0].shape == std::vector<int64_t>{3, 5, 4});
  CHECK(transforms.fields()[0].sample_bytes == 240);
  const at::Tensor bytes = at::randint(0, 256, {2, 5, 4, 3}, at::kByte);
  Tensors batch = {bytes.clone(), at::zeros({2}, at::kLong)};
  for (const bool training : {true, false}) {
    Tensors fields = batch;
    transforms.apply(fields, training, 1);
    const at::Tensor mean = at::tensor({0.485, 0.456, 0.406}, at::kDouble).view({3, 1, 1});
    const at::Tensor deviation = at::tensor({0.229, 0.224, 0.225}, at::kDouble).view({3, 1, 1});
    const at::Tensor expected = (bytes.permute({0, 3, 1, 2}).to(at::kDouble) / 255 - mean) / deviation;
    CHECK(fields[0].is_contiguous());
    CHECK((fields[0].to(at::kDouble) - expected).abs().max().item<double>() < 1e-6);
    CHECK(at::equal(batch[0], bytes));  // the loader's memory is not written to
  }
}

TEST_CASE("mix-up blends each sample and its target with its neighbour") {
  const Tensors batch = transformed(mix({"mix_up"}), 4);
  const double share = kept(batch);
  CHECK(share > 0);
  CHECK(share < 1);
  for (int64_t i = 0; i < 3; ++i) {
    const double expected = share * static_cast<double>(i) + (1 - share) * static_cast<double>((i + 2) % 3);
    CHECK((batch[0][i] - expected).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("cut-mix puts a box of the neighbour into each sample, and its area into the target") {
  std::set<int64_t> areas;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const Tensors batch = transformed(mix({"cut_mix"}), seed);
    const at::Tensor is_foreign = batch[0][1][0].eq(0);
    CHECK(at::equal(batch[0][1][0].eq(1), is_foreign.logical_not()));
    const int64_t area = is_foreign.sum().item<int64_t>();
    areas.insert(area);
    CHECK(kept(batch) == doctest::Approx(1 - static_cast<double>(area) / 80));
    // A box has as many pixels as its rows times its columns. It is the same in each sample.
    CHECK(is_foreign.any(0).sum().item<int64_t>() * is_foreign.any(1).sum().item<int64_t>() == area);
    CHECK(at::equal(batch[0][0][0].eq(2), is_foreign));
  }
  CHECK(areas.size() > 10);
}

TEST_CASE("in evaluation and in batches that are not mixed, the target is the label") {
  for (const Tensors& batch : {transformed(mix({"mix_up"}), 4, false), transformed(mix({"cut_mix"}, 1, 0), 4)}) {
    CHECK(at::equal(batch[2], at::eye(3)));
    CHECK(at::equal(batch[0], make_batch()[0]));
  }
}

TEST_CASE("mixing depends only on the seed, uses both methods equally often, and has the given probability") {
  int mixed = 0, blended = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Tensors batch = transformed(mix({"mix_up", "cut_mix"}, 1, 0.5), seed);
    CHECK(at::equal(batch[0], transformed(mix({"mix_up", "cut_mix"}, 1, 0.5), seed)[0]));
    const double pixel = batch[0][1][0][4][5].item<double>();
    mixed += !at::equal(batch[2], at::eye(3));
    blended += pixel != 0 && pixel != 1;
  }
  CHECK(std::abs(mixed - 500) < 80);  // five standard deviations; a box may be empty
  CHECK(std::abs(blended - 250) < 70);
}

TEST_CASE("the shares have the given beta distribution") {
  for (const double alpha : {0.2, 1.0, 5.0}) {
    CAPTURE(alpha);
    double sum = 0, squares = 0;
    constexpr int kDraws = 4000;
    const BatchTransforms transforms(mix({"mix_up"}, alpha), float_fields());
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      Tensors batch = make_batch();
      transforms.apply(batch, true, seed);
      const double share = batch[2][1][1].item<double>();
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    CHECK(std::abs(sum / kDraws - 0.5) < 5 * std::sqrt(variance / kDraws));
    CHECK(squares / kDraws == doctest::Approx(variance).epsilon(0.1));
  }
}

TEST_CASE("fields that a transform does not accept are refused with the location in the run file") {
  CHECK(refusal_of(kNormalize, float_fields())
            .find("run.toml:8:1: the batch transform normalize is for the field image, "
                  "which is float32 [1, 8, 10]; expected uint8") == 0);
  CHECK(refusal_of({{NormalizeBatch{"imge", {0}, {1}}, "run.toml:8:1"}}, byte_fields())
            .find("the field \"imge\"; did you mean \"image\"?; expected one of image, label") != std::string::npos);
  CHECK(refusal_of({{NormalizeBatch{"image", {0, 0}, {1}}, "run.toml:8:1"}}, byte_fields())
            .find("has 2 numbers for the field image") != std::string::npos);
  CHECK(refusal_of(mix({"mix_up"}), byte_fields()).find("expected floats [..., height, width]: use normalize first") !=
        std::string::npos);
  std::vector<SampleField> fields = float_fields();
  fields.push_back({"target", TENON_INT64, {}, 8, 8});
  CHECK(refusal_of(mix({"mix_up"}), fields).find("adds the field \"target\", which exists already") !=
        std::string::npos);
  fields = float_fields();
  fields[1].dtype = TENON_INT32;
  CHECK(refusal_of(mix({"mix_up"}), fields).find("mix has as its label the field label") != std::string::npos);
  fields = float_fields();
  SampleField boxes{"boxes", TENON_FLOAT32, {-1, 4}, 4, 0};
  boxes.role = TENON_FIELD_BOXES;
  boxes.image = "image";
  fields.push_back(boxes);
  CHECK(refusal_of(mix({"mix_up"}), fields).find("the field image, and the field boxes has places in it") !=
        std::string::npos);
}

TEST_CASE("a label outside the classes is a data error") {
  const BatchTransforms transforms(mix({"mix_up"}), float_fields());
  Tensors batch = make_batch();
  batch[1][2] = 3;
  const std::string message = tenon::find_error(ErrorKind::data, [&] { transforms.check(batch); });
  CHECK(message.find("labels from 0 to 3; expected classes in [0, 3)") != std::string::npos);
}

TEST_CASE("soft_cross_entropy is LibTorch's cross entropy over probabilities, with the batch as its weight") {
  for (const double smoothing : {0.0, 0.1}) {
    BuiltRun run({{"loss=[{use='soft_cross_entropy', params={label_smoothing=" + std::to_string(smoothing) +
                   "}, inputs={target='data.mixed_label'}}]"},
                  "[[data.batch_transform]]\nuse = \"mix\"\nclasses = 10\n"});
    check_soft_cross_entropy(run.training->losses.at(0), smoothing);
  }
}

TEST_CASE("a run trains on mixed batches and validates on unmixed ones") {
  const std::string more =
      "[[data.batch_transform]]\nuse = \"mix\"\nclasses = 10\n"
      "[[metric]]\nuse = \"accuracy\"\nname = \"again\"\n";
  BuiltRun run({{"loss=[{use='soft_cross_entropy', inputs={target='data.mixed_label'}}]", "model={use='small_cnn'}",
                 "optimizer={use='adamw', lr=0.003}", "data.batch_size=64", "train.epochs=3"},
                more});
  run.train();
  const auto validations = run.recorder.of_kind(LineKind::validation);
  REQUIRE(validations.size() == 3);
  CHECK(validations.back().at("validation/loss") < 0.6 * validations.front().at("validation/loss"));
  CHECK(validations.back().at("validation/again") > 0.8);
}
