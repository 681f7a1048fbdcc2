#include "framework/components/kinds/tokenizer.h"

#include <algorithm>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/calls/ports.h"
#include "framework/components/kinds/instance.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

namespace {

constexpr int64_t kLargestVocabulary = int64_t{1} << 31;

// Appends to a container that the context of a sink points to.
template <class Container, class Element>
tenon_status append(void* context, const Element* elements, uint64_t count, const char* what) {
  if (!elements && count > 0) return fail(TENON_INVALID_ARGUMENT, "put {} {}, which are NULL", count, what);
  auto& all = *static_cast<Container*>(context);
  try {
    all.insert(all.end(), elements, elements + count);
    return TENON_OK;
  } catch (const std::exception&) {
    return fail(TENON_FAILED, "put {} {}, for which there is no memory", count, what);
  }
}

tenon_status put_tokens(const tenon_token_sink* sink, const int64_t* tokens, uint64_t count) {
  return append<std::vector<int64_t>>(sink->context, tokens, count, "tokens");
}

// Texts come from the command line and from files of prompts.
void require_utf8(std::string_view text) {
  const std::string valid = support::replace_invalid_utf8(text);
  if (valid == text) return;
  const auto byte = std::ranges::mismatch(valid, text).in2 - text.begin();
  throw Error(ErrorKind::configuration, "the text \"{}\" is not UTF-8 at byte {}; convert it to UTF-8",
              support::escape_control_characters(text), byte);
}

}  // namespace

tenon_text_sink make_text_sink(std::string& text) {
  return {sizeof(tenon_text_sink), &text, [](const tenon_text_sink* sink, tenon_string bytes) {
            return append<std::string>(sink->context, bytes.data, bytes.size, "bytes");
          }};
}

std::optional<Tokenizer> Tokenizer::read(const Component& component, void* self,
                                         const std::vector<SampleField>& fields) {
  const auto* const table = extension_of<tenon_tokenizer>(component, TENON_TOKENIZER);
  if (!table || !table->describe || !table->encode || !table->decode) return std::nullopt;
  const tenon_tokenizer_info* info = nullptr;
  call_plugin(component, "tokenizer.describe", [&] { return table->describe(self, &info); });
  if (!info) return std::nullopt;
  const ResultScope scope(component, "tokenizer.describe, reading its result");
  Tokenizer tokenizer(component, self, *table);
  tokenizer.read_info(*info, fields);
  return tokenizer;
}

void Tokenizer::read_info(const tenon_tokenizer_info& info, const std::vector<SampleField>& fields) {
  const auto refuse = [&](const std::string& what) { throw_plugin_error(*component_, "tokenizer.describe", what); };
  if (info.size < TENON_SIZE_TO(tenon_tokenizer_info, pad)) refuse("the description is cut short");
  if (!info.fields || info.field_count == 0 || info.field_count > fields.size())
    refuse(fmt::format("names {} fields with tokens{}; expected 1 to {}, the number of fields", info.field_count,
                       info.fields ? "" : ", which are NULL", fields.size()));
  for (uint64_t i = 0; i < info.field_count; ++i) {
    const std::string name = to_string(info.fields[i]);
    const auto field = std::ranges::find(fields, name, &SampleField::name);
    if (field == fields.end()) refuse("names the field " + name + ", which is not a field of the dataset");
    if (!field->is_integer())
      refuse(
          fmt::format("names the field {}, which holds {}; expected an integer dtype", name, dtype_name(field->dtype)));
    if (holds_tokens(name)) refuse("names the field " + name + " twice; expected it once");
    fields_.push_back(name);
  }
  if (info.vocabulary_size < 1 || info.vocabulary_size > kLargestVocabulary)
    refuse(fmt::format("has a vocabulary of {} tokens; expected 1 to {}", info.vocabulary_size, kLargestVocabulary));
  for (const auto& [name, id] : {std::pair{"begin", info.begin}, {"end", info.end}, {"pad", info.pad}})
    if (id < -1 || id >= info.vocabulary_size)
      refuse(fmt::format("{} is {}; expected a token below the size of the vocabulary, {}, or -1", name, id,
                         info.vocabulary_size));
  vocabulary_size_ = info.vocabulary_size;
  begin_ = info.begin;
  end_ = info.end;
  pad_ = info.pad;
}

bool Tokenizer::holds_tokens(std::string_view field) const {
  return std::ranges::find(fields_, field) != fields_.end();
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  require_utf8(text);
  std::vector<int64_t> tokens;
  const tenon_token_sink sink{sizeof sink, &tokens, put_tokens};
  call_plugin(*component_, "tokenizer.encode",
              [&] { return table_->encode(self_, tenon_make_string(text.data(), text.size()), &sink); });
  const auto outside =
      std::ranges::find_if(tokens, [&](int64_t token) { return token < 0 || token >= vocabulary_size_; });
  if (outside != tokens.end())
    throw_plugin_error(*component_, "tokenizer.encode", "put the token {}; expected 0 to {}", *outside,
                       vocabulary_size_ - 1);
  return tokens;
}

std::string Tokenizer::decode(std::span<const int64_t> tokens) const {
  std::vector<int64_t> kept;
  for (const int64_t token : tokens) {
    if (token >= vocabulary_size_)
      throw Error(ErrorKind::data,
                  "the token {} is not in the vocabulary of {}, which has {} tokens; use the "
                  "tokenizer with which the weights were trained",
                  token, component_->describe(), vocabulary_size_);
    if (token >= 0 && token != begin_ && token != end_ && token != pad_) kept.push_back(token);
  }
  std::string text;
  const tenon_text_sink sink = make_text_sink(text);
  call_plugin(*component_, "tokenizer.decode", [&] { return table_->decode(self_, kept.data(), kept.size(), &sink); });
  return support::replace_invalid_utf8(text);
}

}  // namespace tenon::components
