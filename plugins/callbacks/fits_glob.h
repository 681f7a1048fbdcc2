// Patterns for names and paths in parameters of callbacks.
#pragma once

// Whether the text matches a pattern in which * matches any characters and ? matches one.
inline bool fits_glob(const char* pattern, const char* text) {
  for (; *pattern != '*'; ++pattern, ++text) {
    if (*pattern == '\0' || *text == '\0') return *pattern == *text;
    if (*pattern != '?' && *pattern != *text) return false;
  }
  while (*pattern == '*') ++pattern;
  do {
    if (fits_glob(pattern, text)) return true;
  } while (*text++ != '\0');
  return false;
}
