// "Did you mean ...?": suggests the known name closest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

// Returns the candidate that a user may have meant, or none:
// - a candidate with few letters changed, by the smallest Damerau-Levenshtein distance, ignoring case. At most two
//   letters, or a third of them, may differ, and one in names of up to three letters: "widht" is "width";
// - a longer or shorter form: "val" is "validation", "learning_rate" is "lr", "ce" is "cross_entropy";
// - a name with the same words: "f1" is "precision_recall_f1", "CrossEntropyLoss" is "cross_entropy", "num_workers" is
//   "workers". A word of a longer name is nearer than another name that differs in a letter.
// Of equally near candidates, the one with the fewest words is returned, and then the first.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns `; did you mean adamw?`, the end of an error message; did_you_mean_name() has quotes around the name.
std::string did_you_mean(std::string_view meant);
std::string did_you_mean_name(std::string_view name);

// Returns `; did you mean "adamw"?`, or "" if no candidate is near.
std::string suggest_nearest(std::string_view name, const std::vector<std::string>& candidates);

// Returns `; did you mean "adamw"?`, or `; known: a, b, c` if no candidate is near, or "" without candidates.
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace formats
