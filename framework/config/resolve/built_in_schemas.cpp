#include "framework/config/resolve/built_in_schemas.h"

namespace tenon::config {
namespace {

ParamSchema field(const std::string& name, const std::string& doc) {
  return parse_param_schema(name, ParamType::string, '"' + name + '"', "", {}, doc);
}

std::vector<ParamSchema> normalize_params() {
  return {parse_param_schema("field", ParamType::string, "\"image\"", "", {},
                             "The field to normalise: bytes of shape [height, width, channels]."),
          parse_param_schema("mean", ParamType::floats, "[0.485, 0.456, 0.406]", "", {},
                             "Mean of each channel, or one for all channels, for values in [0, 1]."),
          parse_param_schema("std", ParamType::floats, "[0.229, 0.224, 0.225]", "(0, inf)", {},
                             "Standard deviation of each channel, or one for all channels, for values in [0, 1].")};
}

std::vector<ParamSchema> mix_params() {
  return {field("image", "The field to mix: floats of shape [..., height, width]."),
          field("label", "The field with the class of each sample."),
          parse_param_schema("target", ParamType::string, "\"mixed_label\"", "", {},
                             "Name of the added field with the probability of each class."),
          parse_param_schema("classes", ParamType::integer, "0", "[0, 1048576]", {},
                             "Number of classes; 0: that of the label, if the dataset declares it."),
          parse_param_schema("methods", ParamType::strings, "[\"mix_up\", \"cut_mix\"]", "", {"mix_up", "cut_mix"},
                             "Methods to apply. With two, one of them is sampled for each batch."),
          number_param("alpha", "1.0", "(0, inf)", "Both parameters of the beta distribution of the mixing ratio."),
          number_param("p", "1.0", "[0, 1]", "Probability that a batch is mixed.")};
}

}  // namespace

ParamSchema number_param(const std::string& name, const std::string& default_toml, const std::string& range,
                         const std::string& doc) {
  return parse_param_schema(name, ParamType::floating, default_toml, range, {}, doc);
}

const std::vector<BuiltInSchema>& batch_transform_schemas() {
  static const std::vector<BuiltInSchema> schemas = {{"normalize", normalize_params()}, {"mix", mix_params()}};
  return schemas;
}

}  // namespace tenon::config
