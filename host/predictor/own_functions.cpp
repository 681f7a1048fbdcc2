#include "host/predictor/own_functions.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace tenon::predictor {

namespace {

#if defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
#else
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
#endif

// The tables of a loaded library: ELF, and glibc's relocated addresses of them (link.h).
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  size_t call_bytes = 0;
  bool uses_rela = false;
};

Tables read_tables(const link_map& library) {
  Tables tables;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
      case DT_SYMTAB: tables.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr); break;
      case DT_STRTAB: tables.names = reinterpret_cast<const char*>(entry->d_un.d_ptr); break;
      case DT_JMPREL: tables.calls = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: tables.call_bytes = entry->d_un.d_val; break;
      case DT_PLTREL: tables.uses_rela = entry->d_un.d_val == DT_RELA; break;
      default: break;
    }
  return tables;
}

// The page may be read-only after the loader has bound all functions.
void write(void** slot, void* function) {
  if (*slot == function) return;
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~(page_bytes - 1));
  if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
    throw std::system_error(errno, std::generic_category(), "the table of LibTorch's functions cannot be changed");
  *slot = function;
}

}  // namespace

void use_own_functions(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return;
  const Tables tables = read_tables(*map);
  if (!tables.symbols || !tables.names || !tables.calls || !tables.uses_rela) return;
  for (size_t i = 0; i < tables.call_bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& call = tables.calls[i];
    if (ELF64_R_TYPE(call.r_info) != kJumpSlot) continue;
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(call.r_info)];
    const std::string_view name = tables.names + symbol.st_name;
    const bool is_own = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (!is_own || name.starts_with("_Z")) continue;
    void* const own = reinterpret_cast<void*>(map->l_addr + symbol.st_value);
    void* const found = dlsym(RTLD_DEFAULT, name.data());
    if (found && found != own) write(reinterpret_cast<void**>(map->l_addr + call.r_offset), own);
  }
}

}  // namespace tenon::predictor
