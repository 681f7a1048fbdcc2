#include "framework/config/built_in_schemas.h"

namespace tenon::config {
namespace {

using Params = std::vector<ParamSchema>;

// `more` after what every optimizer has.
Params with_rates(const std::string& weight_decay, const std::string& decay_doc, const Params& more) {
  Params params = {
      number_param("lr", "", "(0, inf)", "The learning rate, before the schedule."),
      number_param("weight_decay", weight_decay, "[0, inf)", decay_doc),
      parse_param_schema("decay", ParamType::string, "\"matrices\"", "", {"matrices", "all"},
                         "Which parameters are decayed: those of two or more dimensions, or all."),
      number_param("layer_decay", "1.0", "(0, 1]", "The learning rate of each layer is that of the next times this.")};
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

ParamSchema flag(const std::string& name, const std::string& default_toml, const std::string& doc) {
  return parse_param_schema(name, ParamType::boolean, default_toml, "", {}, doc);
}

ParamSchema betas(const std::string& name, const std::string& default_toml, const std::string& doc) {
  return parse_param_schema(name, ParamType::floats, default_toml, "[0, 1)", {}, doc);
}

Params sgd_params() {
  return with_rates("0.0", "L2 penalty, added to the gradient.",
                    {number_param("momentum", "0.0", "[0, 1)", "How much of the last update is kept."),
                     number_param("dampening", "0.0", "[0, 1]", "How much less of the gradient enters the momentum."),
                     flag("nesterov", "false", "Look ahead along the momentum.")});
}

Params adam_params(const std::string& weight_decay, const std::string& decay_doc) {
  return with_rates(weight_decay, decay_doc,
                    {betas("betas", "[0.9, 0.999]", "Decay of the running means of the gradient and of its square."),
                     number_param("eps", "1e-8", "(0, inf)", "Added to the denominator."),
                     flag("amsgrad", "false", "Divide by the largest mean square so far.")});
}

Params rmsprop_params() {
  return with_rates("0.0", "L2 penalty, added to the gradient.",
                    {number_param("alpha", "0.99", "[0, 1)", "Decay of the running mean of the gradient's square."),
                     number_param("eps", "1e-8", "(0, inf)", "Added to the denominator."),
                     number_param("momentum", "0.0", "[0, 1)", "How much of the last update is kept."),
                     flag("centered", "false", "Divide by the deviation from the mean gradient.")});
}

Params adagrad_params() {
  return with_rates("0.0", "L2 penalty, added to the gradient.",
                    {number_param("lr_decay", "0.0", "[0, inf)", "The rate of step n is lr / (1 + (n - 1) lr_decay)."),
                     number_param("initial_accumulator_value", "0.0", "[0, inf)", "What the sum of squares starts at."),
                     number_param("eps", "1e-10", "(0, inf)", "Added to the denominator.")});
}

Params lion_params() {
  return with_rates("0.0", "Decoupled: multiplied by the learning rate, not by the gradient.",
                    {betas("betas", "[0.9, 0.99]", "Shares of the momentum in the update, and in the next momentum.")});
}

Params muon_params() {
  return with_rates(
      "0.1", "Decoupled, of the matrices that Muon has.",
      {number_param("momentum", "0.95", "[0, 1)", "Decay of the running mean of the gradient."),
       flag("nesterov", "true", "Look ahead along the momentum."),
       parse_param_schema("ns_coefficients", ParamType::floats, "[3.4445, -4.775, 2.0315]", "(-inf, inf)", {},
                          "Of the Newton-Schulz iteration."),
       parse_param_schema("ns_steps", ParamType::integer, "5", "[1, 99]", {}, "How often it is iterated."),
       number_param("eps", "1e-7", "(0, inf)", "The least norm that an update is divided by."),
       parse_param_schema("adjust_lr", ParamType::string, "\"original\"", "", {"original", "match_rms_adamw"},
                          "How the learning rate depends on a matrix's shape."),
       parse_param_schema("adamw_match", ParamType::strings, "[\"*embed*\", \"*head*\", \"*classifier*\"]", "", {},
                          "Patterns of the matrices that AdamW has."),
       number_param("adamw_lr_scale", "1.0", "(0, inf)", "AdamW's learning rate is lr times this."),
       number_param("adamw_weight_decay", "0.01", "[0, inf)", "Of what AdamW has."),
       betas("adamw_betas", "[0.9, 0.999]", "As betas of adamw."),
       number_param("adamw_eps", "1e-8", "(0, inf)", "As eps of adamw.")});
}

}  // namespace

const std::vector<BuiltInSchema>& optimizer_schemas() {
  static const std::string decoupled = "Decoupled: multiplied by the learning rate, not by the gradient.";
  static const std::vector<BuiltInSchema> schemas = {{"sgd", sgd_params()},
                                                     {"adam", adam_params("0.0", "L2 penalty, added to the gradient.")},
                                                     {"adamw", adam_params("0.01", decoupled)},
                                                     {"rmsprop", rmsprop_params()},
                                                     {"adagrad", adagrad_params()},
                                                     {"lion", lion_params()},
                                                     {"muon", muon_params()}};
  return schemas;
}

}  // namespace tenon::config
