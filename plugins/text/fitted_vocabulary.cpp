#include "plugins/text/fitted_vocabulary.h"

#include <filesystem>
#include <system_error>

#include <tenon/error.hpp>

namespace text {

FittedVocabulary FittedVocabulary::parse(std::string_view printed) {
  const size_t line = printed.find('\n');
  const std::string kind(printed.substr(0, line));
  if (line == std::string_view::npos || (kind != "bytes" && kind != "characters" && kind != "pieces"))
    throw tenon::DataError("the saved vocabulary begins with \"" + kind.substr(0, 20) +
                           "\"; expected bytes, characters or pieces: it was written by another version of the plugin");
  return {kind, std::string(printed.substr(line + 1))};
}

std::vector<tenon::Param> tokenizer_schema(const std::string& what, const std::string& tokenizer_text,
                                           const std::string& without_both) {
  return {tenon::param("tokenizer", tenon::Path())
              .doc("SentencePiece model " + what + "; empty: one is trained, the same for every dataset of the run"),
          tenon::param("tokenizer_text", tenon::Path()).doc(tokenizer_text + "; empty: " + without_both)};
}

std::shared_ptr<const std::string> choose_vocabulary(
    const tenon::Params& params, std::string_view fitted, const std::string& path,
    const std::function<std::string(const std::string& file)>& read,
    const std::function<std::shared_ptr<const std::string>(const std::string& file)>& make) {
  const std::string model = params.path("tokenizer"), text = params.path("tokenizer_text");
  if (!model.empty() && !text.empty())
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "tokenizer and tokenizer_text are both set; expected one of them: "
                       "remove tokenizer_text to use the model " +
                           model);
  const std::string& named = model.empty() ? text : model;
  const auto from_named = [&] { return model.empty() ? make(text) : std::make_shared<const std::string>(read(model)); };
  if (fitted.empty()) return named.empty() ? make(path) : from_named();
  // Later commands may run where only the weights are.
  std::error_code ignored;
  const bool is_missing = named.find_first_of("*?[") == std::string::npos && !std::filesystem::exists(named, ignored);
  if (!named.empty() && !is_missing && *from_named() != fitted)
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       std::string(model.empty() ? "tokenizer_text" : "tokenizer") + " = " + named +
                           ": is another vocabulary than that of the training data; expected the same tokens: remove "
                           "the parameter, or train with it");
  return std::make_shared<const std::string>(fitted);
}

}  // namespace text
