#include "host/training/use_class_names.h"

#include <algorithm>
#include <variant>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/config/toml/value.h"
#include "framework/formats/class_names.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::host {

void use_class_names(config::RunPlan& plan, const config::ClassNames& of_weights, const std::string& source) {
  if (of_weights.empty()) return;
  for (const auto& [field, names] : plan.data.class_names) {
    const auto known = of_weights.find(field);
    if (known == of_weights.end() || known->second == names) continue;
    throw support::Error(support::ErrorKind::configuration,
                         plan.file.string() + ": data.class_names." + config::to_toml_key(field) + " has " +
                             config::describe_classes(names) + "; expected those of " + source + ", " +
                             config::describe_classes(known->second) +
                             ", in their order: remove the key, because the weights know their classes");
  }
  plan.data.class_names.insert(of_weights.begin(), of_weights.end());
  plan.data.class_names_source = source;
}

void compare_class_names(const std::filesystem::path& weights, const config::ClassNames& of_data) {
  if (weights.empty()) return;
  for (const auto& [field, names] : artifacts::read_class_names(weights)) {
    const auto found = of_data.find(field);
    if (found == of_data.end() || found->second == names || !std::ranges::is_permutation(found->second, names))
      continue;
    support::log_warning(weights.string() + ": numbers the classes of " + field + " in another order, " +
                         config::describe_classes(names) + ", than the data, " +
                         config::describe_classes(found->second) + "; set data.class_names." +
                         config::to_toml_key(field) +
                         " to the order of the weights to keep the meaning of their outputs");
  }
}

void report_number_order(const config::RunPlan& plan, const config::ClassNames& of_data) {
  for (const auto& [field, names] : of_data) {
    const auto as_text = formats::sort_numbers_as_text(names);
    if (!as_text || plan.data.class_names.contains(field) || formats::sort_names(names) != names) continue;
    const std::string order = "the classes of " + field + " are numbers in the order of their values, " +
                              formats::list_briefly(names) + "; if these are in the order of the texts, " +
                              formats::list_briefly(*as_text) + ", as of torchvision's ImageFolder, ";
    const bool has_unnamed =
        !plan.model.weights.empty() && !artifacts::read_class_names(plan.model.weights).contains(field);
    if (has_unnamed)
      support::log_warning(plan.model.weights.string() + ": has no names of classes, and " + order +
                           "set data.class_names." + config::to_toml_key(field) + " to that order");
    for (const config::LossPlan& loss : plan.losses) {
      const auto weights = loss.params.find("class_weights");
      const auto* const numbers =
          weights == loss.params.end() ? nullptr : std::get_if<std::vector<double>>(&weights->second);
      if (numbers && !numbers->empty())
        support::log_warning(loss.place + ": class_weights has a number for each class, and " + order + "reorder them");
    }
  }
}

void report_unnamed_classes(const std::string& weights, const config::ClassNames& of_weights,
                            const config::ClassNames& of_data) {
  for (const auto& [field, names] : of_data)
    if (!of_weights.contains(field))
      support::log_warning(weights + ": has no names for the classes of " + field +
                           ", so they are numbered as the data number them: " + config::describe_classes(names) +
                           "; set data.class_names." + config::to_toml_key(field) +
                           " to the order that the weights were trained with");
}

void add_class_names(config::RunPlan& plan, const config::ClassNames& of_data) {
  constexpr size_t kMost = size_t{256} << 10;
  size_t bytes = 0;
  for (const auto& [field, names] : of_data)
    for (const std::string& name : names) bytes += name.size();
  if (bytes > kMost)
    support::log_info("the names of classes have " + std::to_string(bytes) +
                      " bytes; they are in the metadata of the weights, and not in plan.toml");
  else
    plan.data.class_names = of_data;
}

}  // namespace tenon::host
