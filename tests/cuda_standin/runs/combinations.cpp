#include "tests/cuda_standin/runs/combinations.h"

#include <torch/types.h>

#include <filesystem>
#include <utility>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/support/diagnostics/error.h"
#include "tests/test_folder.h"

namespace tenon::standin {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kSamples = 8, kLength = 6, kClasses = 10;

// What a model predicts, as bits.
enum Kind {
  kClass = 1,   // one class of an image, [N, 10]
  kMap = 2,     // a class of each pixel, [N, 10, H, W]
  kPair = 4,    // one number for two images, [N]
  kTokens = 8,  // a token after each one, [N, T, V]
  kAny = 15
};

struct Network {
  std::string use, params, output;
  int kind;
  std::vector<int64_t> input;   // of a sample
  std::vector<int64_t> result;  // of a sample
};

const std::vector<int64_t> kImage{3, 16, 16};

const std::vector<Network> kNetworks{
    {"mlp", "inputs=768,hidden=[16]", "logits", kClass, kImage, {kClasses}},
    {"small_cnn", "channels=3,width=8", "logits", kClass, kImage, {kClasses}},
    {"resnet", "depth=18,width=8,stem='cifar',classes=10", "logits", kClass, kImage, {kClasses}},
    {"efficientnet",
     "width=0.2,depth=0.2,classes=10,dropout=0.0,stochastic_depth=0.0",
     "logits",
     kClass,
     {3, 64, 64},
     {kClasses}},
    {"vit",
     "variant='ti_16',image_size=16,patch_size=8,width=16,depth=2,heads=2,mlp_width=32,classes=10",
     "logits",
     kClass,
     kImage,
     {kClasses}},
    {"unet", "classes=10,depth=2,width=4", "logits", kMap, kImage, {kClasses, 16, 16}},
    {"siamese_cnn", "width=4", "same", kPair, kImage, {}},
    {"seq2seq_transformer",
     "vocabulary_size=12,width=16,heads=2,encoder_layers=1,decoder_layers=1,feed_forward=32,dropout=0.0,generate=4",
     "logits",
     kTokens,
     {kLength},
     {kLength, 12}},
    {"gpt", "vocabulary_size=12,context=6,layers=2,heads=2,width=16", "logits", kTokens, {kLength}, {kLength, 12}},
    {"exported",
     "path='" TENON_SOURCE_DIR "/tests/parity/reference/exported/cnn.pt2'",
     "output",
     kClass,
     {1, 8, 8},
     {kClasses}},
    {"exported",
     "path='" TENON_SOURCE_DIR "/tests/parity/reference/exported/encoder.pt2'",
     "output",
     kTokens,
     {5},
     {5, 8}},
};

// A loss or a metric. `prediction` and `target` are inputs. Fields are `label`: class numbers; `dense`: 0 or 1 for each
// number of the output; `probabilities`: of the classes.
struct Scored {
  std::string use;
  int kinds;
  std::string prediction, field, params = "";
};

const std::vector<Scored> kLosses{
    {"cross_entropy", kClass | kMap, "logits", "label"},
    {"soft_cross_entropy", kClass, "logits", "probabilities"},
    {"sequence_cross_entropy", kTokens, "logits", "label"},
    {"focal", kClass | kMap, "logits", "label"},
    {"dice", kClass | kMap, "logits", "label"},
    {"bce_with_logits", kAny, "logits", "dense"},
    {"binary_focal", kAny, "logits", "dense"},
    {"binary_dice", kAny, "logits", "dense"},
    {"mse", kAny, "prediction", "dense"},
    {"l1", kAny, "prediction", "dense"},
    {"smooth_l1", kAny, "prediction", "dense"},
    {"huber", kAny, "prediction", "dense"},
    {"kl_divergence", kClass | kMap, "prediction", "probabilities"},
    {"ctc", kTokens, "logits", "label"},
};

// All that fit a model are computed.
const std::vector<Scored> kMetrics{
    {"accuracy", kClass | kMap, "logits", "label"},
    {"precision_recall_f1", kClass | kMap, "logits", "label", "classes=10"},
    {"confusion_matrix", kClass | kMap, "logits", "label", "classes=10"},
    {"iou", kClass | kMap, "logits", "label", "classes=10"},
    {"dice_score", kClass | kMap, "logits", "label", "classes=10"},
    {"roc_auc", kClass | kMap, "logits", "label", "classes=10"},
    {"average_precision", kClass | kMap, "logits", "label", "classes=10"},
    {"token_accuracy", kTokens, "logits", "label"},
    {"perplexity", kTokens, "logits", "label"},
    {"binary_accuracy", kAny, "logits", "dense"},
    {"binary_precision_recall_f1", kAny, "logits", "dense"},
    {"binary_roc_auc", kAny, "logits", "dense"},
    {"binary_average_precision", kAny, "logits", "dense"},
    {"mae", kAny, "prediction", "dense"},
    {"rmse", kAny, "prediction", "dense"},
    {"r2", kAny, "prediction", "dense"},
};
const std::vector<std::string> kTextMetrics{"bleu", "rouge_l"};

// Optimizers that divide by the size of gradients have a smaller learning rate.
const std::vector<std::string> kOptimizers{"use='sgd',lr=0.01,momentum=0.9",
                                           "use='adam',lr=0.001",
                                           "use='adamw',lr=0.001",
                                           "use='rmsprop',lr=0.001",
                                           "use='adagrad',lr=0.001",
                                           "use='lion',lr=0.001",
                                           "use='muon',lr=0.001",
                                           "use='schedule_free_adamw',lr=0.001"};

const std::string kFrozen = "[[optimizer.group]]\nmatch = ['*bias']\nfrozen = true\n";

// The values of the other factors: keys of the table train, of other tables, or text of the run file.
const std::vector<std::vector<std::string>> kValues{
    {},
    {},
    kOptimizers,
    {"precision='fp32'", "precision='tf32'", "precision='bf16'", "precision='fp16'", "precision='bf16_true'"},
    {"cuda_graph='on'", "cuda_graph='off'"},
    {"run.deterministic=true", "run.deterministic=false"},
    {"accumulate=1", "accumulate=2"},
    {"clip_norm=0.0", "clip_norm=0.1"},
    {"", "average={use='ema',decay=0.9}"},
    {"", kFrozen, kFrozen + "eval_batch_norm = true\n"},
    {"activation_checkpointing=false", "activation_checkpointing=true"},
    {"memory_format='contiguous'", "memory_format='channels_last'"},
    {"data.workers=0", "data.workers=2"},
    {"", "[[data.batch_transform]]\nuse = 'normalize'\nmean = [0.5]\nstd = [0.3]\n",
     "[[data.batch_transform]]\nuse = 'mix'\nclasses = 10\n"}};

const Network& network_of(const Combination& combination) {
  return kNetworks[static_cast<size_t>(combination[kModel])];
}

// Draws a tensor for all samples. `shape`: of one.
at::Tensor draw(std::vector<int64_t> shape, int64_t limit, at::Generator& random) {
  shape.insert(shape.begin(), kSamples);
  return at::randint(0, limit, shape, random, at::kLong);
}

fs::path write_data(const Network& network, bool has_bytes) {
  const fs::path file =
      test_folder() / (std::to_string(&network - kNetworks.data()) + (has_bytes ? "-bytes" : "") + ".safetensors");
  if (fs::exists(file)) return file;
  at::Generator random = at::detail::createCPUGenerator(1);
  std::vector<std::pair<std::string, at::Tensor>> fields;
  std::vector<int64_t> places = network.result;  // what has a label
  if (network.kind == kTokens) {
    const int64_t vocabulary = places.back();
    places.pop_back();
    // Lower numbers are special tokens.
    for (const char* name : {"tokens", "source", "target_in"})
      fields.emplace_back(name, draw(places, vocabulary - 4, random) + 4);
    fields.emplace_back("label", draw(places, vocabulary - 4, random) + 4);
    fields.emplace_back("input_lengths", at::full({kSamples}, places[0], at::kLong));
    fields.emplace_back("target_lengths", at::full({kSamples}, 2, at::kLong));
  } else {
    at::Tensor image = draw(network.input, 256, random);
    image = has_bytes ? image.to(at::kByte).permute({0, 2, 3, 1}).contiguous() : image.to(at::kFloat).div(128).sub(1);
    const bool is_pair = network.kind == kPair;
    fields.emplace_back(is_pair ? "first" : "image", image);
    if (is_pair) fields.emplace_back("second", image.flip({2, 3}));
    if (!is_pair) places.erase(places.begin());
    fields.emplace_back("label", draw(places, kClasses, random));
  }
  const at::Tensor dense = draw(network.result, 2, random).to(at::kFloat);
  fields.emplace_back("dense", dense);
  if (network.kind & (kClass | kMap))
    fields.emplace_back("probabilities", draw(network.result, 8, random).to(at::kFloat).softmax(1));
  std::vector<artifacts::TensorView> views;
  for (auto& [name, tensor] : fields) {
    tensor = tensor.contiguous();
    const int32_t dtype = tensor.scalar_type() == at::kFloat  ? TENON_FLOAT32
                          : tensor.scalar_type() == at::kByte ? TENON_UINT8
                                                              : TENON_INT64;
    views.push_back(
        {name, dtype, tensor.sizes().vec(), static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  artifacts::write_safetensors(file, views, {}, support::ErrorKind::internal);
  return file;
}

// An element of the list `loss` or `metric`.
std::string use(const Scored& scored, const Network& network, const std::string& target) {
  std::string inputs = scored.prediction + "='model." + network.output + "',target='data." + target + "'";
  if (scored.use == "ctc") inputs += ",input_lengths='data.input_lengths',target_lengths='data.target_lengths'";
  return "{use='" + scored.use + "',params={" + scored.params + "},inputs={" + inputs + "}},";
}

std::string use_metrics(const Network& network) {
  std::string list;
  for (const Scored& metric : kMetrics)
    if (metric.kinds & network.kind) list += use(metric, network, metric.field);
  if (network.use == "seq2seq_transformer")
    for (const std::string& metric : kTextMetrics)
      list += "{use='" + metric + "',inputs={predicted='model.generated',target='data.label'}},";
  return list;
}

bool fits(int f, int v, int g, int w) {
  const auto is = [&](int factor, const char* text) {
    const int value = factor == f ? v : factor == g ? w : -1;
    return value >= 0 &&
           kValues[static_cast<size_t>(factor)][static_cast<size_t>(value)].find(text) != std::string::npos;
  };
  if (f == kModel && g == kLoss)
    return (kNetworks[static_cast<size_t>(v)].kind & kLosses[static_cast<size_t>(w)].kinds) != 0;
  if (f == kModel && g == kTransform) {
    const int kind = kNetworks[static_cast<size_t>(v)].kind;
    return w == 0 || kind == kClass || (kind == kMap && is(kTransform, "normalize"));
  }
  // The second exported model adds numbers of float32, so its layer norm gets float32 with weights of bfloat16.
  if (f == kModel && v + 1 == static_cast<int>(kNetworks.size()) && is(kPrecision, "bf16_true")) return false;
  // The host refuses averages of bfloat16, and two averages.
  const bool averages = is(kAverage, "ema"), is_schedule_free = is(kOptimizer, "schedule_free");
  return !(is(kPrecision, "bf16_true") && (averages || is_schedule_free)) && !(averages && is_schedule_free);
}

}  // namespace

const Factors& factors() {
  static const Factors all = [] {
    Factors made{{}, fits};
    for (const auto& values : kValues) made.sizes.push_back(static_cast<int>(values.size()));
    made.sizes[kModel] = static_cast<int>(kNetworks.size());
    made.sizes[kLoss] = static_cast<int>(kLosses.size());
    return made;
  }();
  return all;
}

std::string value_of(const Combination& combination, Factor factor) {
  const auto value = static_cast<size_t>(combination[factor]);
  if (factor == kModel) return kNetworks[value].use;
  if (factor == kLoss) return kLosses[value].use;
  return kValues[factor][value];
}

std::string describe(const Combination& combination) {
  std::string text;
  for (int factor = 0; factor < kFactorCount; ++factor)
    if (const std::string value = value_of(combination, static_cast<Factor>(factor)); !value.empty())
      text += (text.empty() ? "" : ", ") + value;
  return text;
}

pipeline::Setup setup_of(const Combination& combination, const std::string& precision, const std::string& graph) {
  const Network& network = network_of(combination);
  const Scored& loss = kLosses[static_cast<size_t>(combination[kLoss])];
  const auto has = [&](Factor factor, const char* text) {
    return value_of(combination, factor).find(text) != std::string::npos;
  };
  const bool mixes = has(kTransform, "mix");
  const std::string data =
      "={use='arrays',params={path='" + write_data(network, has(kTransform, "normalize")).string() + "'}}";
  std::string train = "train={steps=" + std::to_string(kSteps) + "," + precision + "," + graph;
  for (const Factor factor : {kAccumulate, kClip, kAverage, kCheckpointing, kFormat})
    if (const std::string value = value_of(combination, factor); !value.empty()) train += "," + value;
  return {
      {"model={use='" + network.use + "',params={" + network.params + "}}", "data.batch_size=4", "data.train" + data,
       "data.validation" + data,
       "loss=[" + use(loss, network, mixes && loss.field == "probabilities" ? "mixed_label" : loss.field) + "]",
       "metric=[" + use_metrics(network) + "]", train + "}", "optimizer={" + value_of(combination, kOptimizer) + "}",
       value_of(combination, kDeterministic), value_of(combination, kWorkers), "log.every='1 step'",
       "validation={every='3 steps',at_start=true}", "checkpoint.every='never'"},
      value_of(combination, kGroup) + value_of(combination, kTransform)};
}

std::set<std::string> used_components() {
  std::set<std::string> names;
  for (const Network& network : kNetworks) names.insert("model " + network.use);
  for (const Scored& loss : kLosses) names.insert("loss " + loss.use);
  for (const Scored& metric : kMetrics) names.insert("metric " + metric.use);
  for (const std::string& metric : kTextMetrics) names.insert("metric " + metric);
  for (const std::string& optimizer : kOptimizers)
    names.insert("optimizer " + optimizer.substr(5, optimizer.find(',') - 6));
  return names;
}

std::set<std::string> bundled_components() {
  std::set<std::string> names;
  components::install_libtorch();
  const auto catalogue =
      components::Catalogue::look({build_folder() / "plugins"}, components::host_table(), components::torch_build());
  for (const auto& [kind, word] : {std::pair(config::ComponentKind::model, "model "),
                                   {config::ComponentKind::loss, "loss "},
                                   {config::ComponentKind::metric, "metric "}})
    for (const std::string& id : catalogue.component_ids(kind)) names.insert(word + id);
  for (const config::BuiltInSchema& schema : config::optimizer_schemas()) names.insert("optimizer " + schema.id);
  return names;
}

}  // namespace tenon::standin
