/* The operators that a plugin calls through tenon/ops. Each function of tenon/ops keeps the name of its operator in a
 * section of the plugin's file. The section therefore has the names of the functions that the plugin was built with,
 * and no others. tenon_answer() and TENON_PLUGIN add them to tenon_plugin.operators. Plugins do not include this file.
 */
#ifndef TENON_CALLED_OPERATORS_H
#define TENON_CALLED_OPERATORS_H

#include <string.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For a character array: places it in the section. Other code must refer to the array; a linker may otherwise drop it.
 */
#define TENON_CALLED_OPERATOR __attribute__((section("tenon_operators")))

/* The section, as the linker defines it. Between the names are any number of zeros. (With an asm label instead of these
 * reserved names, GCC would lose the visibility, and LLD would export the symbols.) */
extern const char __start_tenon_operators[] __attribute__((visibility("hidden"))); /* NOLINT(*-reserved-identifier) */
extern const char __stop_tenon_operators[] __attribute__((visibility("hidden")));  /* NOLINT(*-reserved-identifier) */

/* [load] Returns the name after `name`, or the first one for null: `aten::linear`, or with an overload
 * `aten::add.Tensor`. Returns null after the last name. Names repeat if several source files call the operator. */
TENON_INLINE const char* tenon_next_called_operator(const char* name) {
  /* Without this reference to it, a plugin that calls no operator would not have the section. */
  static const char kNone[] TENON_CALLED_OPERATOR = "";
  const char* volatile none = kNone;
  (void)none;
  name = name ? name + strlen(name) : __start_tenon_operators;
  /* As integers, because a compiler may assume that pointers to two arrays are never equal. */
  while ((uintptr_t)name < (uintptr_t)__stop_tenon_operators && *name == '\0') ++name;
  return (uintptr_t)name < (uintptr_t)__stop_tenon_operators ? name : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
