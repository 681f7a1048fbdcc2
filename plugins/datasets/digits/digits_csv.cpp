#include "plugins/datasets/digits/digits_csv.h"

// The assembler embeds the file. This needs no generated source, and no file at run time.
asm(R"(
  .pushsection .rodata
  .globl digits_csv_begin
  .globl digits_csv_end
  .hidden digits_csv_begin
  .hidden digits_csv_end
digits_csv_begin:
  .incbin ")" DIGITS_CSV R"("
digits_csv_end:
  .popsection
)");

extern "C" {
extern const char digits_csv_begin[] __attribute__((visibility("hidden")));
extern const char digits_csv_end[] __attribute__((visibility("hidden")));
}

namespace digits {

std::string_view digits_csv() { return {digits_csv_begin, static_cast<size_t>(digits_csv_end - digits_csv_begin)}; }

}  // namespace digits
