// Vision transformers: Dosovitskiy et al., "An image is worth 16x16 words: transformers for image recognition at
// scale", arXiv:2010.11929. Names and structure are those of torchvision, so that its weights load; so do timm's, by
// their names.
#include <tenon/checkpointing.hpp>
#include <tenon/plugin.hpp>

#include <cmath>

#include "plugins/models/layers.h"
#include "plugins/models/params.h"

namespace {

using tenon::Builder;
using tenon::Frame;
using tenon::Tensor;

// Table 1 of the paper. Ti and S are from Steiner et al., "How to train your ViT?", arXiv:2106.10270.
struct Variant {
  const char* name;
  int64_t patch_size, width, depth, heads, mlp_width;
};

constexpr Variant kVariants[] = {{"ti_16", 16, 192, 12, 3, 768},   {"s_32", 32, 384, 12, 6, 1536},
                                 {"s_16", 16, 384, 12, 6, 1536},   {"b_32", 32, 768, 12, 12, 3072},
                                 {"b_16", 16, 768, 12, 12, 3072},  {"l_32", 32, 1024, 24, 16, 4096},
                                 {"l_16", 16, 1024, 24, 16, 4096}, {"h_14", 14, 1280, 32, 16, 5120}};

constexpr double kEps = 1e-6;  // epsilon of layer normalisation

struct Dropout {
  double values, attention;
};

// torch.nn.MultiheadAttention as self-attention.
class SelfAttention {
 public:
  SelfAttention(const Builder& builder, const std::string& name, const Variant& variant)
      : heads_(variant.heads),
        in_weight_(builder.parameter(name + ".in_proj_weight", {3 * variant.width, variant.width},
                                     tenon::init::xavier_uniform())),
        in_bias_(builder.parameter(name + ".in_proj_bias", {3 * variant.width}, tenon::init::constant(0))),
        out_(builder, name + ".out_proj", variant.width, variant.width, {.bias_init = tenon::init::constant(0)}) {}

  // x: [N, L, width].
  Tensor operator()(const Tensor& x, double dropout) const {
    const Frame& frame = x.checked_frame();
    const std::vector<Tensor> parts = chunk(linear(x, frame.tensor(in_weight_), frame.tensor(in_bias_)), 3, 2);
    const Tensor seen =
        attention(split(parts[0]), split(parts[1]), split(parts[2]), {}, frame.is_training() ? dropout : 0);
    return out_(flatten(transpose(seen, 1, 2), 2));
  }

 private:
  // [N, L, width] as [N, heads, L, width / heads].
  Tensor split(const Tensor& x) const {
    const std::vector<int64_t> shape = x.shape();
    return transpose(reshape(x, {-1, shape[1], heads_, shape[2] / heads_}), 1, 2);
  }

  int64_t heads_;
  uint64_t in_weight_, in_bias_;
  tenon::Linear out_;
};

// The weights are initialised as in X. Glorot and Y. Bengio (2010).
const tenon::LinearOptions kMlpOptions = {true, tenon::init::xavier_uniform(), tenon::init::normal(0, 1e-6)};

class EncoderBlock {
 public:
  EncoderBlock(const Builder& builder, const std::string& name, const Variant& variant, const Dropout& dropout,
               double drop)
      : dropout_(dropout),
        drop_(drop),
        attention_norm_(builder, name + ".ln_1", {variant.width}, kEps),
        attention_(builder, name + ".self_attention", variant),
        mlp_norm_(builder, name + ".ln_2", {variant.width}, kEps),
        widen_(builder, name + ".mlp.0", variant.width, variant.mlp_width, kMlpOptions),
        narrow_(builder, name + ".mlp.3", variant.mlp_width, variant.width, kMlpOptions) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor attended = x + thin_out(attention_(attention_norm_(x), dropout_.attention));
    const Tensor hidden = dropout(gelu(widen_(mlp_norm_(attended))), dropout_.values);
    return attended + thin_out(narrow_(hidden));
  }

 private:
  Tensor thin_out(const Tensor& branch) const {
    const Tensor thinned = dropout(branch, dropout_.values);
    tenon::components::drop_rows(thinned, drop_);
    return thinned;
  }

  Dropout dropout_;
  double drop_;
  tenon::LayerNorm attention_norm_;
  SelfAttention attention_;
  tenon::LayerNorm mlp_norm_;
  tenon::Linear widen_, narrow_;
};

// Returns the size that a parameter sets, or the default of the variant.
int64_t read_size(const tenon::Params& params, const char* name, int64_t variant_size) {
  return params.integer(name) > 0 ? params.integer(name) : variant_size;
}

Variant read_variant(const tenon::Params& params) {
  Variant variant = tenon::components::find_variant(kVariants, params);
  variant.patch_size = read_size(params, "patch_size", variant.patch_size);
  variant.width = read_size(params, "width", variant.width);
  variant.depth = read_size(params, "depth", variant.depth);
  variant.heads = read_size(params, "heads", variant.heads);
  variant.mlp_width = read_size(params, "mlp_width", variant.mlp_width);
  tenon::components::check_heads(variant.width, variant.heads);
  return variant;
}

int64_t read_image_size(const tenon::Params& params, int64_t patch_size) {
  const int64_t size = params.integer("image_size");
  if (size % patch_size == 0) return size;
  throw tenon::Error(TENON_INVALID_ARGUMENT, "image_size = " + std::to_string(size) + " with patches of " +
                                                 std::to_string(patch_size) + " pixels; expected a multiple, such as " +
                                                 std::to_string((size + patch_size - 1) / patch_size * patch_size));
}

class VisionTransformer final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("variant", "b_16")
            .choices(tenon::components::list_variants(kVariants))
            .doc("model size and patch size"),
        tenon::param("image_size", 224)
            .range("[1, 65536]")
            .doc("height and width of an image, a multiple of patch_size"),
        tenon::components::channels_param(3),
        tenon::components::classes_param(1000),
        tenon::param("patch_size", 0)
            .range("[0, 65536]")
            .doc("height and width of a patch; 0: the default of the variant"),
        tenon::param("width", 0)
            .range("[0, 1e9]")
            .doc("values per patch, a multiple of heads; 0: the default of the variant"),
        tenon::param("depth", 0).range("[0, 1024]").doc("encoder blocks; 0: the default of the variant"),
        tenon::param("heads", 0).range("[0, 1e9]").doc("number of attention heads; 0: the default of the variant"),
        tenon::param("mlp_width", 0)
            .range("[0, 1e9]")
            .doc("values between the two linear layers of a block; 0: the default of the variant"),
        tenon::param("dropout", 0.0)
            .range("[0, 1)")
            .doc("dropout probability of embeddings and of all linear layers except those of attention"),
        tenon::param("attention_dropout", 0.0).range("[0, 1)").doc("dropout probability of the attention weights"),
        tenon::param("stochastic_depth", 0.0)
            .range("[0, 1)")
            .doc("probability that a sample skips a branch (stochastic depth, arXiv:1603.09382), increasing with the "
                 "depth of the block from 0 to this value; torchvision has no such option")};
  }

  explicit VisionTransformer(const tenon::Params& params)
      : variant_(read_variant(params)),
        image_size_(read_image_size(params, variant_.patch_size)),
        channels_(params.integer("channels")),
        classes_(params.integer("classes")),
        dropout_{params.number("dropout"), params.number("attention_dropout")},
        stochastic_depth_(params.number("stochastic_depth")) {}

  std::vector<tenon::Port> ports() const {
    const std::string size = std::to_string(image_size_);
    return {tenon::input("image", "N," + std::to_string(channels_) + "," + size + "," + size, TENON_ANY_FLOAT),
            tenon::output("logits", "N," + std::to_string(classes_), TENON_ANY_FLOAT)};
  }

  void build(const Builder& builder) {
    class_token_ = builder.parameter("class_token", {1, 1, variant_.width}, tenon::init::constant(0));
    add_patches(builder);
    const int64_t side = image_size_ / variant_.patch_size;
    positions_ =
        builder.parameter("encoder.pos_embedding", {1, side * side + 1, variant_.width}, tenon::init::normal(0, 0.02));
    for (int64_t i = 0; i < variant_.depth; ++i) {
      const double drop =
          i == 0 ? 0 : stochastic_depth_ * static_cast<double>(i) / static_cast<double>(variant_.depth - 1);
      blocks_.emplace_back(builder, "encoder.layers.encoder_layer_" + std::to_string(i), variant_, dropout_, drop);
    }
    norm_ = tenon::LayerNorm(builder, "encoder.ln", {variant_.width}, kEps);
    head_ = tenon::Linear(builder, "heads.head", variant_.width, classes_,
                          {true, tenon::init::constant(0), tenon::init::constant(0)});
  }

  bool is_capturable() const { return true; }

  // The names of timm's VisionTransformer.
  std::vector<std::pair<std::string, std::string>> tied_weights() const {
    std::vector<std::pair<std::string, std::string>> names{{"cls_token", "class_token"},
                                                           {"pos_embed", "encoder.pos_embedding"}};
    const auto add = [&](const std::string& timm, const std::string& name) {
      tenon::components::add_names(names, timm, name, {"weight", "bias"});
    };
    add("patch_embed.proj.", "conv_proj.");
    for (int64_t i = 0; i < variant_.depth; ++i) {
      const std::string timm = "blocks." + std::to_string(i) + ".";
      const std::string name = "encoder.layers.encoder_layer_" + std::to_string(i) + ".";
      add(timm + "norm1.", name + "ln_1.");
      add(timm + "attn.qkv.", name + "self_attention.in_proj_");
      add(timm + "attn.proj.", name + "self_attention.out_proj.");
      add(timm + "norm2.", name + "ln_2.");
      add(timm + "mlp.fc1.", name + "mlp.0.");
      add(timm + "mlp.fc2.", name + "mlp.3.");
    }
    add("norm.", "encoder.ln.");
    add("head.", "heads.head.");
    return names;
  }

  Tensor forward(const Frame& frame, const tenon::Inputs& inputs) const {
    Tensor x = tenon::checkpoint(
        frame, [this](const Frame& within, const Tensor& image) { return embed(within, image); }, inputs["image"]);
    for (const EncoderBlock& block : blocks_) {
      x = tenon::checkpoint(
          frame, [&block](const Frame&, const Tensor& given) { return block(given); }, x);
    }
    // The classifier reads only the class token, so the other tokens need no normalisation.
    return head_(norm_(select(x, 1, 0)));
  }

 private:
  void add_patches(const Builder& builder) {
    const int64_t fan_in = channels_ * variant_.patch_size * variant_.patch_size;
    // torchvision truncates the distribution at +-2, which is many of these deviations away.
    patch_weight_ =
        builder.parameter("conv_proj.weight", {variant_.width, channels_, variant_.patch_size, variant_.patch_size},
                          tenon::init::normal(0, 1 / std::sqrt(static_cast<double>(fan_in))));
    patch_bias_ = builder.parameter("conv_proj.bias", {variant_.width}, tenon::init::constant(0));
  }

  // Maps [N, channels, S, S] to [N, 1 + patches, width], with the class token first.
  Tensor embed(const Frame& frame, const Tensor& image) const {
    static const tenon::Op expand_as("aten::expand_as");
    const Tensor grid =
        conv2d(image, frame.tensor(patch_weight_), frame.tensor(patch_bias_), /*stride=*/variant_.patch_size);
    const Tensor patches = transpose(flatten(grid, 2), 1, 2);
    const Tensor class_tokens = frame.call(expand_as, {frame.tensor(class_token_), slice(patches, 1, 0, 1)});
    return tenon::dropout(tenon::cat({class_tokens, patches}, 1) + frame.tensor(positions_), dropout_.values);
  }

  Variant variant_;
  int64_t image_size_;
  int64_t channels_;
  int64_t classes_;
  Dropout dropout_;
  double stochastic_depth_;
  uint64_t class_token_ = 0, patch_weight_ = 0, patch_bias_ = 0, positions_ = 0;
  std::vector<EncoderBlock> blocks_;
  tenon::LayerNorm norm_;
  tenon::Linear head_;
};

}  // namespace

TENON_PLUGIN("vit", "0.1.0", "Apache-2.0", "Vision transformers for image classification.",
             tenon::model<VisionTransformer>(
                 "vit", "vision transformer for image classification; loads the weights of torchvision and timm"),
             tenon::operators({"aten::expand_as"}))
