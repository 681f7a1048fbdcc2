// The tokenizer of a dataset, see tenon/tokenizer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/tokenizer.h>

#include "framework/components/calls/component.h"
#include "framework/components/kinds/sample_slot.h"

namespace tenon::components {

// A sink that appends to `text`, which must outlive it.
tenon_text_sink make_text_sink(std::string& text);

// [train] Valid while its dataset lives.
class Tokenizer {
 public:
  // Reads the tokenizer of a dataset with these fields; nothing if it has none. `self`: the dataset's instance. Throws
  // Error(plugin) for an invalid description.
  static std::optional<Tokenizer> read(const Component& component, void* self, const std::vector<SampleField>& fields);

  // Names of the fields that hold tokens.
  const std::vector<std::string>& fields() const { return fields_; }
  bool holds_tokens(std::string_view field) const;
  int64_t vocabulary_size() const { return vocabulary_size_; }

  // Special tokens, which are no text; -1: the tokenizer does not have it.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  int64_t pad() const { return pad_; }

  // Returns the tokens of a text, without special tokens. Throws Error(configuration) for a text that is not UTF-8,
  // Error(data) for a text that has no tokens in this vocabulary, and Error(plugin) for tokens outside the vocabulary.
  std::vector<int64_t> encode(std::string_view text) const;

  // Returns the text of tokens, always valid UTF-8: U+FFFD stands for what the plugin puts otherwise. Special and
  // negative tokens are left out. Throws Error(data) for a token that is not below vocabulary_size().
  std::string decode(std::span<const int64_t> tokens) const;

 private:
  Tokenizer(const Component& component, void* self, const tenon_tokenizer& table)
      : component_(&component), self_(self), table_(&table) {}
  void read_info(const tenon_tokenizer_info& info, const std::vector<SampleField>& fields);

  const Component* component_;
  void* self_;
  const tenon_tokenizer* table_;
  std::vector<std::string> fields_;
  int64_t vocabulary_size_ = 0, begin_ = -1, end_ = -1, pad_ = -1;
};

}  // namespace tenon::components
