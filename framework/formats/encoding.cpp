#include "framework/formats/encoding.h"

#include <algorithm>

namespace formats {
namespace {

using namespace std::string_view_literals;

// Latin letters and digits have a zero byte in each character.
std::string_view guess_by_zeros(std::string_view text) {
  constexpr size_t kRead = 4096;
  text = text.substr(0, std::min(text.size(), kRead) / 4 * 4);
  size_t zeros[4] = {};
  for (size_t i = 0; i < text.size(); ++i) zeros[i % 4] += text[i] == '\0';
  const size_t characters = text.size() / 4;
  if (characters == 0) return "";
  const auto most = [&](size_t count) { return count * 10 >= characters * 9; };
  if (zeros[0] == 0 && most(zeros[1]) && most(zeros[2]) && most(zeros[3])) return "UTF-32LE";
  if (zeros[3] == 0 && most(zeros[0]) && most(zeros[1]) && most(zeros[2])) return "UTF-32BE";
  const auto many = [&](size_t count) { return count * 10 >= 2 * characters * 7; };
  if (zeros[0] + zeros[2] == 0 && many(zeros[1] + zeros[3])) return "UTF-16LE";
  if (zeros[1] + zeros[3] == 0 && many(zeros[0] + zeros[2])) return "UTF-16BE";
  return "";
}

std::string_view guess(std::string_view text) {
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return guess_by_zeros(text);
}

}  // namespace

std::string find_wide_encoding(std::string_view text) {
  const std::string encoding(guess(text));
  if (encoding.empty()) return "";
  return "is " + encoding + "; expected UTF-8; convert it with iconv -f " + encoding +
         " -t UTF-8, or save it in Excel as \"CSV UTF-8\"";
}

}  // namespace formats
