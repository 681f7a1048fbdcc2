// Whether the program is built with a sanitizer: TENON_IS_SANITIZED for the preprocessor, and kIsSanitized.
#pragma once

// GCC defines macros; clang has features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_IS_SANITIZED 1
#endif
#endif
#ifndef TENON_IS_SANITIZED
#define TENON_IS_SANITIZED 0
#endif

namespace tenon::support {

inline constexpr bool kIsSanitized = TENON_IS_SANITIZED;

}  // namespace tenon::support
