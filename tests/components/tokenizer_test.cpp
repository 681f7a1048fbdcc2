// Tests the host's view of a tokenizer with a table that each test fills.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <tenon/random.hpp>

#include "framework/components/kinds/tokenizer.h"
#include "framework/support/text/printable.h"
#include "tests/messages.h"

namespace tokenizer_test {

using namespace tenon;
using components::Tokenizer;
using support::ErrorKind;

namespace {

using Ids = std::vector<int64_t>;

const std::string kReplacement = "\xEF\xBF\xBD";

// A tokenizer of bytes with three more tokens, which are special. Tests change its parts.
struct Plugin {
  Plugin() { fields.push_back(TENON_STRING("tokens")); }

  std::vector<tenon_string> fields;
  tenon_tokenizer_info info = {sizeof(tenon_tokenizer_info), nullptr, 1, 259, 256, 257, 258};
  bool has_info = true;
  std::function<tenon_status(tenon_string, const tenon_token_sink*)> encode;
  Ids decoded;  // the tokens that decode received last
  bool puts_null = false;
};

tenon_status describe(void* self, const tenon_tokenizer_info** info) {
  Plugin& plugin = *static_cast<Plugin*>(self);
  if (plugin.info.field_count > 0 && !plugin.fields.empty()) plugin.info.fields = plugin.fields.data();
  if (plugin.has_info) *info = &plugin.info;
  return TENON_OK;
}

tenon_status encode(void* self, tenon_string text, const tenon_token_sink* sink) {
  const Plugin& plugin = *static_cast<Plugin*>(self);
  if (plugin.encode) return plugin.encode(text, sink);
  for (uint64_t i = 0; i < text.size; ++i) {
    const int64_t token = static_cast<unsigned char>(text.data[i]);
    if (const tenon_status status = sink->put(sink, &token, 1)) return status;
  }
  return TENON_OK;
}

tenon_status decode(void* self, const int64_t* tokens, uint64_t count, const tenon_text_sink* sink) {
  Plugin& plugin = *static_cast<Plugin*>(self);
  if (plugin.puts_null) return sink->put(sink, {nullptr, 3});
  plugin.decoded.assign(tokens, tokens + count);
  const std::string text(plugin.decoded.begin(), plugin.decoded.end());
  return sink->put(sink, {text.data(), text.size()});
}

constexpr tenon_tokenizer kTable = {sizeof(tenon_tokenizer), &describe, &encode, &decode};

const void* find_extension(tenon_string id) { return components::to_string(id) == TENON_TOKENIZER ? &kTable : nullptr; }

const components::Component& component() {
  static const components::PluginInfo plugin{};
  static const components::Component made = [] {
    components::Component one{};
    one.plugin = &plugin;
    one.get_extension = &find_extension;
    return one;
  }();
  return made;
}

const std::vector<components::SampleField>& fields() {
  static const std::vector<components::SampleField> all = [] {
    components::SampleField tokens{};
    tokens.name = "tokens";
    tokens.dtype = TENON_INT64;
    components::SampleField image{};
    image.name = "image";
    image.dtype = TENON_FLOAT32;
    return std::vector{tokens, image};
  }();
  return all;
}

std::optional<Tokenizer> read(Plugin& plugin) { return Tokenizer::read(component(), &plugin, fields()); }

std::string message_of(const std::function<void()>& body, ErrorKind kind) { return tenon::find_error(kind, body); }

void check_refused(Plugin plugin, const std::string& what) {
  const std::string message = message_of([&] { read(plugin); }, ErrorKind::plugin);
  CAPTURE(message);
  CHECK(message.ends_with("tokenizer.describe: " + what));
}

template <class Change>
Plugin changed(const Change& change) {
  Plugin plugin;
  change(plugin);
  return plugin;
}

}  // namespace

TEST_CASE("a tokenizer is read with its fields, and a dataset may have none") {
  Plugin plugin;
  const std::optional<Tokenizer> tokenizer = read(plugin);
  REQUIRE(tokenizer);
  CHECK(tokenizer->fields() == std::vector<std::string>{"tokens"});
  CHECK(tokenizer->holds_tokens("tokens"));
  CHECK_FALSE(tokenizer->holds_tokens("image"));
  CHECK(tokenizer->vocabulary_size() == 259);
  CHECK(tokenizer->begin() == 256);
  CHECK(tokenizer->end() == 257);
  CHECK(tokenizer->pad() == 258);
  plugin.has_info = false;
  CHECK_FALSE(read(plugin));
  components::Component without = component();
  without.get_extension = nullptr;
  CHECK_FALSE(Tokenizer::read(without, &plugin, fields()));
}

TEST_CASE("an invalid description names the plugin's function and what was expected") {
  check_refused(changed([](Plugin& plugin) { plugin.info.size = 48; }), "the description is cut short");
  check_refused(changed([](Plugin& plugin) { plugin.fields.clear(); }),
                "names 1 fields with tokens, which are NULL; expected 1 to 2, the number of fields");
  check_refused(changed([](Plugin& plugin) { plugin.info.field_count = 0; }),
                "names 0 fields with tokens, which are NULL; expected 1 to 2, the number of fields");
  check_refused(changed([](Plugin& plugin) { plugin.info.field_count = 3; }),
                "names 3 fields with tokens; expected 1 to 2, the number of fields");
  check_refused(changed([](Plugin& plugin) { plugin.fields = {TENON_STRING("token")}; }),
                "names the field token, which is not a field of the dataset");
  check_refused(changed([](Plugin& plugin) { plugin.fields = {TENON_STRING("image")}; }),
                "names the field image, which holds float32; expected an integer dtype");
  check_refused(changed([](Plugin& plugin) {
                  plugin.fields = {TENON_STRING("tokens"), TENON_STRING("tokens")};
                  plugin.info.field_count = 2;
                }),
                "names the field tokens twice; expected it once");
  check_refused(changed([](Plugin& plugin) { plugin.info.vocabulary_size = 0; }),
                "has a vocabulary of 0 tokens; expected 1 to 2147483648");
  check_refused(changed([](Plugin& plugin) { plugin.info.end = 259; }),
                "end is 259; expected a token below the size of the vocabulary, 259, or -1");
  check_refused(changed([](Plugin& plugin) { plugin.info.pad = -2; }),
                "pad is -2; expected a token below the size of the vocabulary, 259, or -1");
}

TEST_CASE("special and negative tokens are no text, and larger ones are refused") {
  Plugin plugin;
  const std::optional<Tokenizer> tokenizer = read(plugin);
  CHECK(tokenizer->decode(Ids{256, 'a', -100, 'b', 257, 258, -1, 'c'}) == "abc");
  CHECK(plugin.decoded == Ids{'a', 'b', 'c'});
  CHECK(tokenizer->decode({}).empty());
  const std::string message = message_of([&] { tokenizer->decode(Ids{'a', 259}); }, ErrorKind::data);
  CHECK(message.starts_with("the token 259 is not in the vocabulary of "));
  CHECK(message.ends_with("which has 259 tokens; use the tokenizer with which the weights were trained"));
}

TEST_CASE("a text is valid UTF-8 whatever tokens there are, and valid text is unchanged") {
  Plugin plugin;
  const std::optional<Tokenizer> tokenizer = read(plugin);
  // The end of one character, and the beginning of another: a window of bytes.
  CHECK(tokenizer->decode(Ids{0x82, 0xAC, 'a', 0xE2, 0x82}) == kReplacement + kReplacement + "a" + kReplacement);
  tenon::Random random(7);
  for (int round = 0; round < 500; ++round) {
    Ids tokens;
    for (int64_t left = random.integer(40); left > 0; --left) tokens.push_back(random.integer(259));
    const std::string text = tokenizer->decode(tokens);
    CHECK(support::replace_invalid_utf8(text) == text);
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  }
}

TEST_CASE("invalid UTF-8 becomes one replacement character for each longest beginning of a character") {
  const auto replaced = [](const std::string& text) { return support::replace_invalid_utf8(text); };
  const std::string valid = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80" + std::string(1, '\0') + "z";
  CHECK(replaced(valid) == valid);
  // Table 3-8 of the Unicode standard, and what Python's decode("utf-8", "replace") gives.
  CHECK(replaced("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") == kReplacement + kReplacement + kReplacement + kReplacement +
                                                                kReplacement + kReplacement + kReplacement +
                                                                kReplacement + "A");
  CHECK(replaced("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") ==
        kReplacement + kReplacement + kReplacement + kReplacement + "A");
  CHECK(replaced("\xED\xA0\x80") == kReplacement + kReplacement + kReplacement);
  CHECK(replaced("\xF4\x90") == kReplacement + kReplacement);
  CHECK(replaced("\xF0\x9F\x98") == kReplacement);
}

TEST_CASE("a text must be UTF-8, and its tokens must be in the vocabulary") {
  Plugin plugin;
  const std::optional<Tokenizer> tokenizer = read(plugin);
  CHECK(tokenizer->encode("ab") == Ids{'a', 'b'});
  CHECK(message_of([&] { tokenizer->encode("a\xE9"); }, ErrorKind::configuration) ==
        "the text \"a\\xe9\" is not UTF-8 at byte 1; convert it to UTF-8");
  for (const int64_t outside : {int64_t{-1}, int64_t{259}}) {
    plugin.encode = [&](tenon_string, const tenon_token_sink* sink) { return sink->put(sink, &outside, 1); };
    CHECK(message_of([&] { tokenizer->encode("a"); }, ErrorKind::plugin)
              .ends_with("tokenizer.encode: put the token " + std::to_string(outside) + "; expected 0 to 258"));
  }
}

TEST_CASE("a null put into a sink is the plugin's error") {
  Plugin plugin;
  const std::optional<Tokenizer> tokenizer = read(plugin);
  plugin.puts_null = true;
  CHECK(message_of([&] { tokenizer->decode(Ids{'a'}); }, ErrorKind::plugin).ends_with("put 3 bytes, which are NULL"));
  plugin.encode = [](tenon_string, const tenon_token_sink* sink) { return sink->put(sink, nullptr, 2); };
  CHECK(message_of([&] { tokenizer->encode("a"); }, ErrorKind::plugin).ends_with("put 2 tokens, which are NULL"));
}

}  // namespace tokenizer_test
