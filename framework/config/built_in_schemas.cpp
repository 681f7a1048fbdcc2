#include "framework/config/built_in_schemas.h"

namespace tenon::config {
namespace {

ParamSchema number(const std::string& name, const std::string& default_toml, const std::string& range,
                   const std::string& doc) {
  return parse_param_schema(name, ParamType::floating, default_toml, range, {}, doc);
}

std::vector<ParamSchema> sgd_params() {
  return {number("lr", "", "(0, inf)", "The learning rate, before the schedule."),
          number("momentum", "0.0", "[0, 1)", "How much of the last update is kept."),
          number("dampening", "0.0", "[0, 1]", "How much less of the gradient enters the momentum."),
          number("weight_decay", "0.0", "[0, inf)", "L2 penalty, added to the gradient."),
          parse_param_schema("nesterov", ParamType::boolean, "false", "", {}, "Look ahead along the momentum.")};
}

std::vector<ParamSchema> adamw_params() {
  return {
      number("lr", "", "(0, inf)", "The learning rate, before the schedule."),
      parse_param_schema("betas", ParamType::floats, "[0.9, 0.999]", "[0, 1)", {},
                         "Decay of the running means of the gradient and of its square."),
      number("eps", "1e-8", "(0, inf)", "Added to the denominator."),
      number("weight_decay", "0.01", "[0, inf)", "Decoupled: multiplied by the learning rate, not by the gradient.")};
}

std::vector<ParamSchema> one_cycle_params() {
  return {number("warmup_fraction", "0.3", "[0, 1]", "The part of all steps in which the learning rate rises."),
          number("div_factor", "25.0", "(0, inf)", "The first learning rate is lr / div_factor."),
          number("final_div_factor", "1e4", "(0, inf)", "The last learning rate is the first / final_div_factor."),
          parse_param_schema("anneal", ParamType::string, "\"cosine\"", "", {"cosine", "linear"},
                             "The shape of the rise and of the fall.")};
}

ParamSchema field(const std::string& name, const std::string& doc) {
  return parse_param_schema(name, ParamType::string, '"' + name + '"', "", {}, doc);
}

std::vector<ParamSchema> normalize_params() {
  return {parse_param_schema("field", ParamType::string, "\"image\"", "", {},
                             "The field, bytes [height, width, channels]."),
          parse_param_schema("mean", ParamType::floats, "[0.485, 0.456, 0.406]", "", {},
                             "Of each channel, or of all, of values in [0, 1]."),
          parse_param_schema("std", ParamType::floats, "[0.229, 0.224, 0.225]", "(0, inf)", {}, "Likewise.")};
}

std::vector<ParamSchema> mix_params() {
  return {field("image", "The field that is mixed, floats [..., height, width]."),
          field("label", "The field with the class of each sample."),
          parse_param_schema("target", ParamType::string, "\"mixed_label\"", "", {},
                             "The field that is added, the probability of each class."),
          parse_param_schema("classes", ParamType::integer, "", "[1, 1048576]", {}, "How many classes there are."),
          parse_param_schema("methods", ParamType::strings, "[\"mix_up\", \"cut_mix\"]", "", {"mix_up", "cut_mix"},
                             "What is done to a batch; of two, one or the other by chance."),
          number("alpha", "1.0", "(0, inf)", "Both parameters of the beta distribution that the share is drawn from."),
          number("p", "1.0", "[0, 1]", "How likely a batch is mixed.")};
}

}  // namespace

const std::vector<BuiltInSchema>& batch_transform_schemas() {
  static const std::vector<BuiltInSchema> schemas = {{"normalize", normalize_params()}, {"mix", mix_params()}};
  return schemas;
}

const std::vector<BuiltInSchema>& optimizer_schemas() {
  static const std::vector<BuiltInSchema> schemas = {{"sgd", sgd_params()}, {"adamw", adamw_params()}};
  return schemas;
}

const std::vector<BuiltInSchema>& schedule_schemas() {
  static const std::vector<BuiltInSchema> schemas = {{"constant", {}}, {"one_cycle", one_cycle_params()}};
  return schemas;
}

}  // namespace tenon::config
