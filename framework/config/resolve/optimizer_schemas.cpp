#include "framework/config/resolve/built_in_schemas.h"

namespace tenon::config {
namespace {

using Params = std::vector<ParamSchema>;

// The parameters of every optimizer, followed by `more`.
Params with_rates(const std::string& weight_decay, const std::string& decay_doc, const Params& more) {
  Params params = {number_param("lr", "", "(0, inf)", "The learning rate, before the schedule."),
                   number_param("weight_decay", weight_decay, "[0, inf)", decay_doc),
                   parse_param_schema("decay", ParamType::string, "\"matrices\"", "", {"matrices", "all"},
                                      "Which parameters have weight decay: those with two or more dimensions, or all."),
                   number_param("layer_decay", "1.0", "(0, 1]",
                                "The learning rate of a layer is that of the next layer times this.")};
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
  return with_rates("0.0", "Weight decay (L2 penalty), added to the gradient.",
                    {number_param("momentum", "0.0", "[0, 1)", "Momentum factor."),
                     number_param("dampening", "0.0", "[0, 1]", "Dampening for momentum."),
                     flag("nesterov", "false", "Enables Nesterov momentum.")});
}

Params adam_params(const std::string& weight_decay, const std::string& decay_doc) {
  return with_rates(weight_decay, decay_doc,
                    {betas("betas", "[0.9, 0.999]", "Decay of the running averages of the gradient and its square."),
                     number_param("eps", "1e-8", "(0, inf)", "Added to the denominator."),
                     flag("amsgrad", "false", "AMSGrad: divide by the largest mean square so far.")});
}

Params rmsprop_params() {
  return with_rates("0.0", "Weight decay (L2 penalty), added to the gradient.",
                    {number_param("alpha", "0.99", "[0, 1)", "Decay of the running average of the squared gradient."),
                     number_param("eps", "1e-8", "(0, inf)", "Added to the denominator."),
                     number_param("momentum", "0.0", "[0, 1)", "Momentum factor."),
                     flag("centered", "false", "Divide by the standard deviation of the gradient.")});
}

Params adagrad_params() {
  return with_rates(
      "0.0", "Weight decay (L2 penalty), added to the gradient.",
      {number_param("lr_decay", "0.0", "[0, inf)", "Step n has the learning rate lr / (1 + (n - 1) lr_decay)."),
       number_param("initial_accumulator_value", "0.0", "[0, inf)", "Initial value of the sum of squares."),
       number_param("eps", "1e-10", "(0, inf)", "Added to the denominator.")});
}

Params lion_params() {
  return with_rates("0.0", "Decoupled weight decay, scaled by the learning rate and not added to the gradient.",
                    {betas("betas", "[0.9, 0.99]", "Weights of the momentum in the update and in the next momentum.")});
}

Params muon_params() {
  return with_rates(
      "0.1", "Decoupled weight decay of the matrices that Muon updates.",
      {number_param("momentum", "0.95", "[0, 1)", "Decay of the running average of the gradient."),
       flag("nesterov", "true", "Enables Nesterov momentum."),
       parse_param_schema("ns_coefficients", ParamType::floats, "[3.4445, -4.775, 2.0315]", "(-inf, inf)", {},
                          "Coefficients of the Newton-Schulz iteration."),
       parse_param_schema("ns_steps", ParamType::integer, "5", "[1, 99]", {}, "Number of Newton-Schulz iterations."),
       number_param("eps", "1e-7", "(0, inf)", "Lower bound of the norm that an update is divided by."),
       parse_param_schema("adjust_lr", ParamType::string, "\"original\"", "", {"original", "match_rms_adamw"},
                          "How the learning rate depends on the shape of a matrix."),
       parse_param_schema("adamw_match", ParamType::strings, "[\"*embed*\", \"*head*\", \"*classifier*\"]", "", {},
                          "Name patterns of matrices that AdamW updates."),
       number_param("adamw_lr_scale", "1.0", "(0, inf)", "AdamW's learning rate is lr times this."),
       number_param("adamw_weight_decay", "0.01", "[0, inf)", "Weight decay of the parameters that AdamW updates."),
       betas("adamw_betas", "[0.9, 0.999]", "Same as betas of adamw."),
       number_param("adamw_eps", "1e-8", "(0, inf)", "Same as eps of adamw.")});
}

Params schedule_free_adamw_params() {
  return with_rates(
      "0.0", "Decoupled weight decay, scaled by the learning rate and not added to the gradient.",
      {parse_param_schema("betas", ParamType::floats, "[0.9, 0.999]", "(0, 1)", {},
                          "Share of the average in the weights of training, and decay of the mean square."),
       number_param("eps", "1e-8", "(0, inf)", "Added to the denominator."),
       number_param("r", "0.0", "[0, inf)", "Step k has a weight in the average that grows with k to this power."),
       number_param("weight_lr_power", "2.0", "[0, inf)",
                    "The weight of a step in the average grows with the learning rate to this power.")});
}

}  // namespace

const std::vector<BuiltInSchema>& optimizer_schemas() {
  static const std::string decoupled =
      "Decoupled weight decay, scaled by the learning rate and not added to the gradient.";
  static const std::vector<BuiltInSchema> schemas = {
      {"sgd", sgd_params()},
      {"adam", adam_params("0.0", "Weight decay (L2 penalty), added to the gradient.")},
      {"adamw", adam_params("0.01", decoupled)},
      {"rmsprop", rmsprop_params()},
      {"adagrad", adagrad_params()},
      {"lion", lion_params()},
      {"muon", muon_params()},
      {"schedule_free_adamw", schedule_free_adamw_params()}};
  return schemas;
}

}  // namespace tenon::config
