// The names and texts that MLflow accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlflow {

constexpr size_t kLongestName = 250;
constexpr size_t kLongestParam = 6000;  // of MLflow 2.8 and later
constexpr size_t kLongestTag = 5000;
constexpr size_t kMostMetrics = 1000;  // in a request; the same for all entries together
constexpr size_t kMostParams = 100;

// Letters, digits, `_ - . / ` and spaces stay. Another character becomes `_`.
std::string make_metric_name(std::string_view name);

// "loss[0].weight" becomes "loss.0.weight", because MLflow refuses brackets.
std::string make_param_name(std::string_view key);

// Cuts a text to a number of bytes, at the border of a character.
std::string shorten(std::string text, size_t bytes);

// Whether a metric of an epoch is the mean of a loss over the epoch. It then gets the suffix _epoch, as in TensorBoard:
// the metric of that name is the mean since the last step that was logged. `losses`: the names of the losses.
bool is_mean_over_epoch(std::string_view metric, const std::vector<std::string>& losses);

}  // namespace mlflow
