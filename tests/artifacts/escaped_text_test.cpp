// Random hostile texts in the files that a run writes: CSV, HTML and TensorBoard events.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "framework/artifacts/files/encode.h"
#include "framework/artifacts/run_folder/tensorboard_events.h"
#include "framework/support/text/printable.h"
#include "tests/support/hostile_text.h"

namespace tenon::artifacts {
namespace {

constexpr int kTexts = 5000;

// Reads a CSV file by RFC 4180. Fails the test if a quote is in the wrong place.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool is_quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string& cell = rows.back().back();
    if (text[at] == '"') {
      const bool is_doubled = is_quoted && at + 1 < text.size() && text[at + 1] == '"';
      if (is_doubled) {
        cell += text[at++];
      } else {
        if (!is_quoted) REQUIRE(cell.empty());
        is_quoted = !is_quoted;
      }
    } else if (!is_quoted && text[at] == ',') {
      rows.back().emplace_back();
    } else if (!is_quoted && text[at] == '\n') {
      rows.push_back({""});
    } else {
      cell += text[at];
    }
  }
  REQUIRE(!is_quoted);
  return rows;
}

// Reverses escape_html(). Fails the test at markup, and at an ampersand that begins no entity.
std::string read_html(const std::string& html) {
  std::string text;
  for (size_t at = 0; at < html.size();) {
    REQUIRE(std::string("<>\"").find(html[at]) == std::string::npos);
    if (html[at] != '&') {
      text += html[at++];
      continue;
    }
    const std::string entity = html.substr(at, html.find(';', at) - at + 1);
    const std::string names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    const auto found = std::find(std::begin(names), std::end(names), entity);
    REQUIRE(found != std::end(names));
    text += "&<>\""[found - std::begin(names)];
    at += entity.size();
  }
  return text;
}

}  // namespace

TEST_CASE("a hostile text stays one cell of a CSV file") {
  std::mt19937 random(11);
  for (int round = 0; round < kTexts; ++round) {
    const std::string text = make_hostile_text(random), plain = make_plain_text(random, 40);
    CAPTURE(text);
    const std::string row = quote_for_csv(text) + "," + quote_for_csv(plain);
    REQUIRE(find_unsafe(row) == "");
    const auto rows = read_csv(row);
    REQUIRE(rows.size() == 1);
    REQUIRE(rows[0] == std::vector<std::string>{support::escape_control_characters(text), plain});
  }
}

TEST_CASE("a hostile text is no markup in HTML") {
  std::mt19937 random(12);
  for (int round = 0; round < kTexts; ++round) {
    const std::string text = make_hostile_text(random), plain = make_plain_text(random, 40);
    CAPTURE(text);
    const std::string html = escape_html(text);
    REQUIRE(find_unsafe(html) == "");
    REQUIRE(read_html(html) == support::escape_control_characters(text));
    REQUIRE(escape_html(plain) == plain);
  }
}

TEST_CASE("hostile names and texts are valid and safe in TensorBoard events") {
  std::mt19937 random(13);
  const TimePoint at{};
  for (int round = 0; round < kTexts; ++round) {
    const std::string text = make_hostile_text(random);
    CAPTURE(text);
    const std::string safe = support::escape_control_characters(text);
    for (const ProtobufMessage& event :
         {make_scalars_event(at, 1, {{text, 1.0}}), make_text_event(at, 1, text, ""),
          make_text_event(at, 1, "plan", text), make_hyperparameters_event(at, {{text, false}}),
          make_hyperparameters_event(at, {{"run.name", text}}), make_histograms_event(at, 1, {{text, {}}})}) {
      REQUIRE(event.bytes().find(safe) != std::string::npos);
      const bool has_escapes = text.size() >= 8 && text.find_first_of("\x1b\r\b") != std::string::npos;
      if (has_escapes) REQUIRE(event.bytes().find(text) == std::string::npos);
    }
  }
}

}  // namespace tenon::artifacts
