#include "framework/pipeline/build/load_weights.h"

#include <fnmatch.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/match_weights.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/nearest_name.h"
#include "framework/pipeline/build/weights_file.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/adapt_weights.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

using artifacts::MatchedWeights;
using artifacts::TensorView;
using artifacts::WeightMatch;
using artifacts::WeightStatus;
using components::NamedTensor;

std::string describe_stored(const TensorView& stored) {
  return fmt::format("{} {}", components::dtype_name(stored.dtype), to_string(components::exact_shape(stored.shape)));
}

std::vector<artifacts::ExpectedTensor> list_expected(const std::vector<NamedTensor>& tensors) {
  std::vector<artifacts::ExpectedTensor> expected;
  for (const NamedTensor& named : tensors) {
    const auto first =
        std::ranges::find_if(tensors, [&](const NamedTensor& other) { return other.tensor.is_same(named.tensor); });
    expected.push_back({named.name, components::to_dtype(named.tensor.scalar_type()), named.tensor.sizes().vec(),
                        static_cast<size_t>(first - tensors.begin())});
  }
  return expected;
}

// Lists what does not match, as lines of the error message.
std::string describe_mismatches(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors) {
  std::string text;
  for (const WeightMatch& match : matched.matches) {
    const NamedTensor& named = tensors[match.expected];
    if (match.status == WeightStatus::missing)
      text += fmt::format("\n  {} is missing; expected {}", named.name, components::describe(named.tensor));
    else if (match.status == WeightStatus::other_shape || match.status == WeightStatus::other_dtype)
      text += fmt::format("\n  {} is {}; expected {}", match.stored->name, describe_stored(*match.stored),
                          components::describe(named.tensor));
  }
  for (const TensorView* stored : matched.unexpected) text += "\n  " + stored->name + " is not a tensor of the model";
  return text;
}

const char* to_string(WeightStatus status) {
  switch (status) {
    case WeightStatus::loaded: return "loaded";
    case WeightStatus::older_batch: return "not in older files";
    case WeightStatus::missing: return "missing";
    case WeightStatus::other_shape: return "another shape";
    case WeightStatus::other_dtype: return "another dtype";
  }
  TORCH_CHECK(false, "fate ", static_cast<int>(status));
}

// For log.txt: each tensor of the model, then the unexpected tensors of the file.
std::string describe_matches(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors) {
  std::vector<std::array<std::string, 3>> rows;
  for (const WeightMatch& match : matched.matches) {
    const NamedTensor& named = tensors[match.tensor];
    std::string what = components::describe(named.tensor);
    if (match.stored && describe_stored(*match.stored) != what) what += " from " + describe_stored(*match.stored);
    if (match.stored && match.stored->name != named.name) what += ", in the file " + match.stored->name;
    rows.push_back({to_string(match.status), named.name, what});
  }
  for (const TensorView* stored : matched.unexpected)
    rows.push_back({"unexpected", stored->name, describe_stored(*stored)});
  size_t status_width = 0, name_width = 0;
  for (const auto& row : rows) {
    status_width = std::max(status_width, row[0].size());
    name_width = std::max(name_width, row[1].size());
  }
  std::string text;
  for (const auto& [status, name, what] : rows)
    text += fmt::format("\n  {}{}{}{}{}", status, std::string(status_width - status.size() + 2, ' '), name,
                        std::string(name_width - name.size() + 2, ' '), what);
  return text;
}

std::string describe_counts(const MatchedWeights& matched) {
  const auto different = matched.count(WeightStatus::other_shape) + matched.count(WeightStatus::other_dtype);
  return fmt::format("{} of {} tensors of the model loaded, {} missing, {} of another shape or dtype, {} unexpected",
                     matched.count(WeightStatus::loaded), matched.count(), matched.count(WeightStatus::missing),
                     different, matched.unexpected.size());
}

bool is_transposed(const WeightMatch& match, const NamedTensor& named) {
  return match.status == WeightStatus::other_shape && named.tensor.dim() == 2 && match.stored->shape.size() == 2 &&
         match.stored->shape[0] == named.tensor.size(1) && match.stored->shape[1] == named.tensor.size(0);
}

// Throws if a matrix of the file is transposed: others may be square, and would be loaded transposed.
void reject_transposed(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors,
                       const std::string& file) {
  const auto found = std::ranges::find_if(
      matched.matches, [&](const WeightMatch& match) { return is_transposed(match, tensors[match.expected]); });
  if (found == matched.matches.end()) return;
  throw support::Error(support::ErrorKind::checkpoint,
                       "{}: {} is transposed: {}, expected {}. Square matrices of this file may be transposed too, as "
                       "in Hugging Face's GPT-2 (Conv1D): transpose them in a converted file:{}",
                       file, found->stored->name, describe_stored(*found->stored),
                       components::describe(tensors[found->expected].tensor), describe_mismatches(matched, tensors));
}

// A partial match must not leave most of the model at random values.
void check_partial(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors, const std::string& file) {
  int64_t largest = 0;
  for (const NamedTensor& named : tensors) largest = std::max(largest, named.tensor.numel());
  for (const WeightMatch& match : matched.matches) {
    const NamedTensor& named = tensors[match.expected];
    if (match.status != WeightStatus::loaded && named.tensor.numel() == largest)
      throw support::Error(support::ErrorKind::checkpoint,
                           "{}: {} is not loaded, which is the largest tensor of the model; if it is meant to keep its "
                           "initial values, name it in model.weights_exclude = [\"{}\"]:{}",
                           file, named.name, named.name, describe_mismatches(matched, tensors));
  }
}

// Tensors of the file that were converted for the model.
using AdaptedWeights = std::map<const TensorView*, AdaptedWeight>;

at::Tensor read_values(const TensorView& stored, const AdaptedWeights& adapted) {
  const auto found = adapted.find(&stored);
  return found == adapted.end() ? copy_stored(stored) : found->second.values;
}

// Converts the tensors that only have another image size or number of channels, and marks them as loaded. Several
// convolutions of three channels are not the first layer of an RGB image.
AdaptedWeights adapt(MatchedWeights& matched, const std::vector<NamedTensor>& tensors) {
  AdaptedWeights adapted;
  std::vector<WeightMatch*> convolutions;
  for (WeightMatch& match : matched.matches) {
    if (match.status != WeightStatus::other_shape) continue;
    auto values = adapt_weight(tensors[match.expected], copy_stored(*match.stored), tensors);
    if (!values) continue;
    if (values->values.dim() == 4) convolutions.push_back(&match);
    adapted.emplace(match.stored, std::move(*values));
    match.status = WeightStatus::loaded;
  }
  if (convolutions.size() < 2) return adapted;
  for (WeightMatch* const match : convolutions) {
    adapted.erase(match->stored);
    match->status = WeightStatus::other_shape;
  }
  return adapted;
}

std::string describe(const AdaptedWeights& adapted) {
  std::string text;
  for (const auto& [stored, weight] : adapted) text += (text.empty() ? "" : ", ") + stored->name + " " + weight.what;
  return text;
}

// A run cannot recover from NaN. Infinity may be meant, as in a mask of attention.
void refuse_nan(const MatchedWeights& matched, const std::string& file) {
  for (const WeightMatch& match : matched.matches)
    if (match.status == WeightStatus::loaded && artifacts::is_floating_point(match.stored->dtype) &&
        at::isnan(copy_stored(*match.stored)).any().item<bool>())
      throw support::Error(support::ErrorKind::checkpoint,
                           "{}: {} holds NaN; expected numbers: use weights from before the training diverged", file,
                           match.stored->name);
}

// The names of what a partial match leaves out, at most the first of them.
std::string list_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more, see log.txt", names.size() - kShown);
  return text;
}

std::string describe_left_out(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> initial, unused;
  for (const WeightMatch& match : matched.matches)
    if (match.status != WeightStatus::loaded && match.status != WeightStatus::older_batch)
      initial.push_back(tensors[match.expected].name);
  for (const TensorView* stored : matched.unexpected) unused.push_back(stored->name);
  std::string text;
  if (!initial.empty()) text += "; these keep their initial values: " + list_names(initial);
  if (!unused.empty()) text += "; the model lacks these of the file: " + list_names(unused);
  return text;
}

// Tied tensors may be in the file several times, with equal values.
void check_ties(const MatchedWeights& matched, const AdaptedWeights& adapted, const std::string& file) {
  for (const WeightMatch& one : matched.matches)
    for (const WeightMatch& other : matched.matches) {
      if (one.tensor != other.tensor || one.expected >= other.expected || one.status != WeightStatus::loaded ||
          other.status != WeightStatus::loaded)
        continue;
      if (!read_values(*one.stored, adapted).equal(read_values(*other.stored, adapted)))
        throw support::Error(support::ErrorKind::checkpoint,
                             "{}: {} and {} differ; expected equal values, because the model has one tensor for both",
                             file, one.stored->name, other.stored->name);
    }
}

bool is_excluded(std::string_view name, const std::string& pattern) {
  do {
    if (::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0) return true;
  } while (artifacts::remove_wrapper_prefix(name));
  return false;
}

// Removes the tensors with a matching name, under all of their names. Returns whether there are any.
bool exclude(const std::string& pattern, std::vector<NamedTensor>& tensors, std::vector<TensorView>& stored) {
  std::vector<at::Tensor> excluded;
  for (const NamedTensor& named : tensors)
    if (is_excluded(named.name, pattern)) excluded.push_back(named.tensor);
  std::vector<std::string> patterns{pattern};
  const size_t removed = std::erase_if(tensors, [&](const NamedTensor& named) {
    const bool is_removed =
        std::ranges::any_of(excluded, [&](const at::Tensor& tensor) { return tensor.is_same(named.tensor); });
    if (is_removed) patterns.push_back(named.name);
    return is_removed;
  });
  const auto is_unused = [&](const TensorView& tensor) {
    return std::ranges::any_of(patterns, [&](const auto& each) { return is_excluded(tensor.name, each); });
  };
  return removed + std::erase_if(stored, is_unused) > 0;
}

// The new name of a tensor; nothing if the pattern does not match it.
std::optional<std::string> rename_by(const std::string& pattern, const std::string& to, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return name == pattern ? std::optional(to) : std::nullopt;
  const std::string end = pattern.substr(star + 1);
  if (name.size() < pattern.size() - 1 || !name.starts_with(pattern.substr(0, star)) || !name.ends_with(end))
    return std::nullopt;
  std::string renamed = to;
  return renamed.replace(to.find('*'), 1, name.substr(star, name.size() - pattern.size() + 1));
}

void rename(const std::vector<std::string*>& names, const std::map<std::string, std::string>& renames,
            const std::string& file) {
  std::vector<std::pair<std::string, std::string>> by_length(renames.begin(), renames.end());
  std::ranges::stable_sort(by_length, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::set<std::string> used;
  std::map<std::string, std::string> origins;
  for (std::string* const name : names) {
    const std::string before = *name;
    for (const auto& [pattern, to] : by_length) {
      const auto renamed = rename_by(pattern, to, before);
      if (!renamed) continue;
      *name = *renamed;
      used.insert(pattern);
      break;
    }
    const auto [first, is_new] = origins.emplace(*name, before);
    if (!is_new)
      throw support::Error(support::ErrorKind::configuration,
                           "model.weights_rename: gives the tensors {} and {} of {} the same name, {}; expected a "
                           "different name for each",
                           first->second, before, file, *name);
  }
  for (const auto& [pattern, to] : renames)
    if (!used.contains(pattern))
      throw support::Error(
          support::ErrorKind::configuration,
          "model.weights_rename: \"{}\" matches no tensor of {}; remove it, or correct it: * matches anything", pattern,
          file);
}

// A tensor of the model that already has the value which a checkpoint leaves out.
struct KeptTensor {
  at::Tensor tensor;
  at::ScalarType dtype;  // of the checkpoint
};

// Removes the tensors that a checkpoint leaves out and the model has already.
std::vector<KeptTensor> keep_excluded(const artifacts::ExcludedTensors& excluded, const WeightsRequest& request,
                                      std::vector<NamedTensor>& tensors) {
  std::vector<KeptTensor> kept;
  for (const artifacts::ExcludedTensor& one : excluded.tensors) {
    if (std::ranges::any_of(request.exclude, [&](const auto& pattern) { return is_excluded(one.name, pattern); }))
      continue;
    const auto found = std::ranges::find(tensors, one.name, &NamedTensor::name);
    const std::optional<std::string> difference =
        found == tensors.end() ? "is not a tensor of the model" : find_difference(found->tensor, one);
    if (difference && request.match == config::WeightsMatch::partial) continue;
    if (difference)
      throw support::Error(support::ErrorKind::checkpoint,
                           describe_difference(excluded, one.name, request.initial_weights, *difference));
    const at::Tensor tensor = found->tensor;
    kept.push_back({tensor, components::to_scalar_type(one.dtype)});
    std::erase_if(tensors, [&](const NamedTensor& named) { return named.tensor.is_same(tensor); });
  }
  return kept;
}

// The run file of the weights of a run.
std::string suggest_run_file(const std::string& file) {
  const auto run = std::filesystem::path(file).parent_path().parent_path().parent_path();
  const std::filesystem::path plan = run / "plan.toml";
  return support::is_file(plan) ? "; expected the model of its run: --config " + plan.string() : "";
}

// Without layers that the file has, the model would compute something else.
std::string suggest_partial(const MatchedWeights& matched) {
  if (matched.unexpected.empty()) return "; load only these with model.weights_match = \"partial\"";
  return "; the model lacks " + support::format_count(std::ssize(matched.unexpected), "tensor") +
         " of the file, and without these layers it computes something else; expected weights of the same "
         "architecture, or model.weights_exclude with the names of tensors that are not needed, such as a classifier";
}

// Throws if the match does not allow loading.
void check(const MatchedWeights& matched, const std::vector<NamedTensor>& tensors, const WeightsRequest& request,
           const std::string& file) {
  const size_t loaded = matched.count(WeightStatus::loaded);
  const auto refuse = [&](const std::string& what) {
    throw support::Error(support::ErrorKind::checkpoint, file + what + describe_mismatches(matched, tensors));
  };
  if (request.match == config::WeightsMatch::strict) {
    if (matched.is_complete()) return;
    reject_transposed(matched, tensors, file);
    if (loaded == 0) refuse(fmt::format(": does not fit the model{}:", suggest_run_file(file)));
    refuse(": does not fit the model: " + std::to_string(loaded) + " of its " + std::to_string(matched.count()) +
           " tensors fit" + (request.is_of_run ? suggest_run_file(file) : suggest_partial(matched)) + ":");
  }
  reject_transposed(matched, tensors, file);
  if (loaded == 0 && !tensors.empty()) refuse(": none of its tensors fits the model; expected at least one:");
  check_partial(matched, tensors, file);
}

}  // namespace

void load_weights(const std::filesystem::path& given, std::vector<NamedTensor> tensors, const WeightsRequest& request) {
  const std::filesystem::path path = artifacts::replace_checkpoint_names(given);
  if (!support::path_exists(path)) {
    const auto index = artifacts::find_index_instead(path);
    throw support::Error(
        support::ErrorKind::checkpoint,
        "{}: {}; expected the file of model.weights: safetensors, or a state_dict of torch.save{}", path.string(),
        support::describe_path(path),
        (index ? formats::did_you_mean(index->string()) : support::suggest_path(path, support::path_exists)));
  }
  artifacts::verify_checkpoint_file(path);
  const WeightsFile file(path);
  std::vector<TensorView> stored(file.tensors().begin(), file.tensors().end());
  if (request.model)
    if (const std::string warning = check_timm_weights(*request.model, path, stored); !warning.empty())
      support::log_warning(warning);
  artifacts::ExcludedTensors excluded = artifacts::find_excluded_tensors(path);
  std::vector<std::string*> names;
  for (TensorView& tensor : stored) names.push_back(&tensor.name);
  for (artifacts::ExcludedTensor& tensor : excluded.tensors) names.push_back(&tensor.name);
  rename(names, request.rename, path.string());
  for (const std::string& pattern : request.exclude)
    if (!exclude(pattern, tensors, stored))
      throw support::Error(support::ErrorKind::configuration,
                           "model.weights_exclude: \"{}\" matches no tensor of the model or of {}; remove it, or "
                           "correct it: * matches anything",
                           pattern, path.string());
  const std::vector<KeptTensor> kept = keep_excluded(excluded, request, tensors);
  const std::vector<artifacts::ExpectedTensor> expected = list_expected(tensors);
  MatchedWeights matched = artifacts::match_weights(stored, expected);
  // The weights of a run must be of the same model.
  const AdaptedWeights adapted = request.is_of_run ? AdaptedWeights() : adapt(matched, tensors);
  check(matched, tensors, request, path.string());
  check_ties(matched, adapted, path.string());
  refuse_nan(matched, path.string());

  const at::NoGradGuard no_grad;
  for (const WeightMatch& one : matched.matches)
    if (one.status == WeightStatus::loaded && has_storage(tensors[one.expected].tensor))
      tensors[one.expected].tensor.copy_(read_values(*one.stored, adapted));
  // A complete checkpoint of a run in bfloat16 would have rounded them.
  for (const KeptTensor& one : kept)
    if (one.tensor.scalar_type() != one.dtype && has_storage(one.tensor)) one.tensor.copy_(one.tensor.to(one.dtype));
  if (!kept.empty())
    support::log_info("{}: leaves out {} frozen parameters, which equal the initial weights of the model",
                      path.string(), kept.size());
  support::log_info("{}: {}{}", path.string(), describe_counts(matched), describe_matches(matched, tensors));
  if (!matched.is_complete())
    support::log_warning("{}: {}{}", path.string(), describe_counts(matched), describe_left_out(matched, tensors));
  if (!adapted.empty())
    support::log_warning("{}: for the images of this model, as timm does: {}", path.string(), describe(adapted));
}

}  // namespace tenon::pipeline
