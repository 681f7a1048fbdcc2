#include "framework/components/loading/elf_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "framework/support/text/format.h"

namespace tenon::components {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "the machine's number in ELF files is not known here; see e_machine in <elf.h>"
#endif

// Far more than any library has. Larger numbers are implausible, and following them would only waste time.
constexpr uint64_t kMaxDynamicEntries = 1 << 16;
constexpr uint64_t kMaxSearchSteps = 1 << 20;
constexpr uint64_t kMaxNameLength = 4096;

[[noreturn]] void refuse(const std::string& found) { throw std::invalid_argument(found); }
[[noreturn]] void refuse_damaged(const std::string& how) { refuse("is damaged: " + how); }

std::string describe_machine(uint16_t machine) {
  switch (machine) {
    case EM_386: return "32-bit x86";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "32-bit ARM";
    case EM_AARCH64: return "AArch64";
    case EM_PPC64: return "64-bit PowerPC";
    case EM_RISCV: return "RISC-V";
    case EM_S390: return "S/390";
    default: return "machine " + std::to_string(machine);
  }
}

std::string describe_type(uint16_t type) {
  switch (type) {
    case ET_REL: return "an object file";
    case ET_EXEC: return "an executable";
    case ET_CORE: return "a core dump";
    default: return "an ELF file of type " + std::to_string(type);
  }
}

// The first bytes of a file that is not ELF, so that the user recognises it.
std::string quote_bytes(const char* bytes, uint64_t count) {
  std::string quoted = "\"";
  for (uint64_t i = 0; i < count; ++i) {
    const auto code = static_cast<unsigned char>(bytes[i]);
    const bool is_plain = code >= 0x20 && code < 0x7F && code != '"' && code != '\\';
    quoted += is_plain ? std::string(1, bytes[i]) : fmt::format("\\x{:02x}", code);
  }
  return quoted + "\"";
}

uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

uint32_t system_v_hash(std::string_view name) {
  uint32_t hash = 0;
  for (const char letter : name) {
    hash = (hash << 4) + static_cast<unsigned char>(letter);
    hash ^= (hash & 0xF0000000) >> 24;
    hash &= 0x0FFFFFFF;
  }
  return hash;
}

constexpr std::string_view kOwner("Tenon\0", 6);  // with the terminating NUL, as in every note
constexpr uint32_t kType = 1;

uint64_t padded(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

static_assert(std::endian::native == std::endian::little,
              "the structs of <elf.h> are copied from the file without conversion");

std::string this_machine() { return describe_machine(kMachine); }

ElfImage::ElfImage(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {
  read_header();
  check_section_headers();
  read_segments();
}

void ElfImage::read_header() {
  if (size_ == 0) refuse("is empty");
  char start[EI_NIDENT] = {};
  const uint64_t count = std::min<uint64_t>(size_, sizeof start);
  read_at(0, start, count);
  if (count < SELFMAG || std::memcmp(start, ELFMAG, SELFMAG) != 0)
    refuse("is not an ELF file; it begins with " + quote_bytes(start, std::min<uint64_t>(count, 8)));
  if (count < sizeof start) refuse("is cut short: it has " + std::to_string(size_) + " bytes");
  if (start[EI_CLASS] != ELFCLASS64)
    refuse(start[EI_CLASS] == ELFCLASS32 ? "is a 32-bit ELF file" : "is an ELF file of an unknown class");
  if (start[EI_DATA] != ELFDATA2LSB)
    refuse(start[EI_DATA] == ELFDATA2MSB ? "is a big-endian ELF file" : "is an ELF file of an unknown byte order");
  read_at(0, &header_, sizeof header_);
  if (header_.e_type != ET_DYN) refuse("is " + describe_type(header_.e_type));
  if (header_.e_machine != kMachine) refuse("is built for " + describe_machine(header_.e_machine));
  if (start[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT)
    refuse_damaged("its ELF version is " + std::to_string(header_.e_version));
}

// The loader does not read the section headers. They come last in a file, so a truncated copy lacks them first.
void ElfImage::check_section_headers() const {
  if (header_.e_shoff == 0) return;
  const uint64_t bytes = std::max<uint64_t>(header_.e_shnum, 1) * header_.e_shentsize;
  if (header_.e_shoff > size_ || bytes > size_ - header_.e_shoff)
    refuse("is cut short: its section headers lie beyond its " + std::to_string(size_) + " bytes");
}

void ElfImage::read_segments() {
  if (header_.e_phnum == 0 || header_.e_phnum == PN_XNUM || header_.e_phentsize != sizeof(Elf64_Phdr))
    refuse_damaged(fmt::format("it has {} program headers of {} bytes", header_.e_phnum, header_.e_phentsize));
  std::vector<Elf64_Phdr> segments(header_.e_phnum);
  read_at(header_.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr));
  std::vector<Elf64_Phdr> dynamic;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_DYNAMIC) dynamic.push_back(segment);
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > size_ || segment.p_filesz > size_ - segment.p_offset)
      refuse("is cut short: a segment lies beyond its " + std::to_string(size_) + " bytes");
    if (segment.p_filesz > segment.p_memsz || segment.p_vaddr + segment.p_memsz < segment.p_vaddr)
      refuse_damaged("a segment does not fit into memory");
    loaded_.push_back(segment);
  }
  if (dynamic.size() != 1) refuse_damaged("it has " + std::to_string(dynamic.size()) + " dynamic sections, not one");
  read_dynamic_section(dynamic.front());
}

void ElfImage::read_dynamic_section(const Elf64_Phdr& dynamic) {
  const uint64_t count = dynamic.p_filesz / sizeof(Elf64_Dyn);
  if (count > kMaxDynamicEntries) refuse_damaged("its dynamic section has " + std::to_string(count) + " entries");
  std::vector<Elf64_Dyn> entries(count);
  read_at(offset_of(dynamic.p_vaddr, count * sizeof(Elf64_Dyn)), entries.data(), count * sizeof(Elf64_Dyn));
  // The loader continues until it finds DT_NULL, wherever that is.
  const auto end =
      std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& entry) { return entry.d_tag == DT_NULL; });
  if (end == entries.end()) refuse_damaged("its dynamic section has no end");
  std::for_each(entries.begin(), end, [this](const Elf64_Dyn& entry) { add_dynamic_entry(entry); });
  if (!string_table_ || !symbol_table_) refuse_damaged("its dynamic section names no symbols");
  string_table_ = offset_of(*string_table_, string_bytes_);
  offset_of(*symbol_table_, sizeof(Elf64_Sym));  // the first one always exists
}

void ElfImage::add_dynamic_entry(const Elf64_Dyn& entry) {
  switch (entry.d_tag) {
    case DT_NEEDED: needed_.push_back(entry.d_un.d_val); break;
    case DT_STRTAB: string_table_ = entry.d_un.d_ptr; break;
    case DT_STRSZ: string_bytes_ = entry.d_un.d_val; break;
    case DT_SYMTAB: symbol_table_ = entry.d_un.d_ptr; break;
    case DT_HASH: hash_table_ = entry.d_un.d_ptr; break;
    case DT_GNU_HASH: gnu_hash_table_ = entry.d_un.d_ptr; break;
    case DT_SYMENT:
      if (entry.d_un.d_val != sizeof(Elf64_Sym))
        refuse_damaged("its symbols are " + std::to_string(entry.d_un.d_val) + " bytes long");
      break;
    default: break;
  }
}

void ElfImage::read_at(uint64_t offset, void* to, uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    refuse(fmt::format("is cut short: it refers to byte {}, but its size is {}", offset, size_));
  auto* next = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, next, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) refuse("became shorter while it was read");
    next += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<uint64_t>(got);
  }
}

uint64_t ElfImage::offset_of(uint64_t address, uint64_t count) const {
  for (const Elf64_Phdr& segment : loaded_) {
    if (address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_filesz && count <= segment.p_filesz - inside) return segment.p_offset + inside;
  }
  refuse_damaged("it refers to an address that is not in the file");
}

template <class T>
T ElfImage::load(uint64_t address) const {
  T value;
  read_at(offset_of(address, sizeof value), &value, sizeof value);
  return value;
}

std::string ElfImage::string_at(uint64_t offset) const {
  if (offset >= string_bytes_) refuse_damaged("a name lies outside its string table");
  std::string text(std::min(string_bytes_ - offset, kMaxNameLength), '\0');
  read_at(*string_table_ + offset, text.data(), text.size());
  const size_t end = text.find('\0');
  if (end == text.npos) refuse_damaged("a name is not terminated");
  return text.substr(0, end);
}

std::vector<std::string> ElfImage::needed() const {
  std::vector<std::string> names;
  for (const uint64_t offset : needed_) names.push_back(string_at(offset));
  return names;
}

// A library without a hash table exports nothing. The loader has no other way to find symbols.
bool ElfImage::exports_function(std::string_view name) const {
  if (gnu_hash_table_) return find_by_gnu_hash(name);
  return hash_table_ && find_by_hash(name);
}

bool ElfImage::find_by_gnu_hash(std::string_view name) const {
  struct Header {
    uint32_t buckets;
    uint32_t first_symbol;
    uint32_t bloom_words;
    uint32_t bloom_shift;
  };
  const auto header = load<Header>(*gnu_hash_table_);
  if (header.buckets == 0) return false;
  const uint64_t buckets = *gnu_hash_table_ + sizeof header + uint64_t{header.bloom_words} * sizeof(uint64_t);
  const uint64_t chains = buckets + uint64_t{header.buckets} * sizeof(uint32_t);
  const uint32_t expected = gnu_hash(name);
  const uint32_t first = load<uint32_t>(buckets + (expected % header.buckets) * sizeof(uint32_t));
  if (first == 0) return false;
  if (first < header.first_symbol) refuse_damaged("its hash table is inconsistent");
  for (uint64_t i = first; i < first + kMaxSearchSteps; ++i) {
    const uint32_t hash = load<uint32_t>(chains + (i - header.first_symbol) * sizeof(uint32_t));
    if ((hash | 1) == (expected | 1) && is_exported_function(static_cast<uint32_t>(i), name)) return true;
    if ((hash & 1) != 0) return false;  // the lowest bit marks the chain's end
  }
  refuse_damaged("a chain of its hash table has no end");
}

bool ElfImage::find_by_hash(std::string_view name) const {
  struct Header {
    uint32_t buckets;
    uint32_t symbols;
  };
  const auto header = load<Header>(*hash_table_);
  if (header.buckets == 0) return false;
  const uint64_t buckets = *hash_table_ + sizeof header;
  const uint64_t chains = buckets + uint64_t{header.buckets} * sizeof(uint32_t);
  uint32_t i = load<uint32_t>(buckets + (system_v_hash(name) % header.buckets) * sizeof(uint32_t));
  for (uint64_t step = 0; step < kMaxSearchSteps; ++step) {
    if (i == STN_UNDEF) return false;
    if (is_exported_function(i, name)) return true;
    i = load<uint32_t>(chains + uint64_t{i} * sizeof(uint32_t));
  }
  refuse_damaged("a chain of its hash table has no end");
}

bool ElfImage::is_exported_function(uint32_t index, std::string_view name) const {
  const auto symbol = load<Elf64_Sym>(*symbol_table_ + uint64_t{index} * sizeof(Elf64_Sym));
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  const bool is_visible = binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE;
  // Assembly code may export a function without a type.
  const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
  return symbol.st_shndx != SHN_UNDEF && is_visible && is_function && string_at(symbol.st_name) == name;
}

std::vector<Elf64_Shdr> ElfImage::read_section_headers() const {
  // The header of a library with too many sections has 0 here. No such library is expected.
  if (header_.e_shoff == 0 || header_.e_shnum == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum)
    refuse_damaged("its section headers are inconsistent");
  std::vector<Elf64_Shdr> sections(header_.e_shnum);
  read_at(header_.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return sections;
}

bool ElfImage::is_named(const Elf64_Shdr& section, const Elf64_Shdr& names, std::string_view name) const {
  if (section.sh_name >= names.sh_size || names.sh_size - section.sh_name <= name.size()) return false;
  if (names.sh_offset > size_ || names.sh_size > size_ - names.sh_offset)
    refuse_damaged("the names of its sections lie outside the file");
  std::string found(name.size() + 1, '\0');
  read_at(names.sh_offset + section.sh_name, found.data(), found.size());
  return found.back() == '\0' && found.compare(0, name.size(), name) == 0;
}

std::optional<std::string> ElfImage::read_section(std::string_view name, uint32_t type, uint64_t largest) const {
  std::optional<std::string> content;
  const std::vector<Elf64_Shdr> sections = read_section_headers();
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != type || !is_named(section, sections[header_.e_shstrndx], name)) continue;
    if (content) refuse_damaged("its section " + std::string(name) + " occurs twice");
    if (section.sh_size > largest) refuse_damaged(fmt::format("its section {} has {} bytes", name, section.sh_size));
    content.emplace(section.sh_size, '\0');
    read_at(section.sh_offset, content->data(), content->size());
  }
  return content;
}

std::string make_note_section(const std::string& text) {
  const Elf64_Nhdr header{kOwner.size(), static_cast<uint32_t>(text.size()), kType};
  std::string section(reinterpret_cast<const char*>(&header), sizeof header);
  section += kOwner;
  section.resize(sizeof header + padded(kOwner.size()));
  section += text;
  section.resize(padded(section.size()));
  return section;
}

std::optional<std::string> read_note_section(const ElfImage& image) {
  const uint64_t start = sizeof(Elf64_Nhdr) + padded(kOwner.size());
  const auto section = image.read_section(kNoteSection, SHT_NOTE, start + kLargestNote);
  if (!section) return std::nullopt;
  Elf64_Nhdr header{};
  if (section->size() >= start) std::memcpy(&header, section->data(), sizeof header);
  if (header.n_namesz != kOwner.size() || header.n_type != kType ||
      section->compare(sizeof header, kOwner.size(), kOwner) != 0 || section->size() != start + padded(header.n_descsz))
    throw std::invalid_argument(std::string("is damaged: its section ") + kNoteSection +
                                " does not hold a note of Tenon");
  return section->substr(start, header.n_descsz);
}

}  // namespace tenon::components
