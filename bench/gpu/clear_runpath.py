"""Clears the library search path in ELF files: clear_runpath.py FILE...

A packed file then finds its libraries through LD_LIBRARY_PATH alone, on the machine that packed it too.
"""
import struct
import sys

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 5, 15, 29


def clear(content: bytearray) -> None:
    """Makes DT_RPATH and DT_RUNPATH empty strings."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("expected a little-endian ELF file of 64 bits")
    offset, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    headers = [struct.unpack_from("<IIQQQQ", content, offset + number * size) for number in range(count)]
    loads = [(address, place, length) for kind, _, place, address, _, length in headers if kind == PT_LOAD]
    for kind, _, place, _, _, length in headers:
        if kind != PT_DYNAMIC:
            continue
        entries = list(struct.iter_unpack("<qQ", content[place:place + length]))
        entries = entries[:[tag for tag, _ in entries].index(DT_NULL)]
        table = dict(entries)[DT_STRTAB]
        strings = next(at + table - address for address, at, bytes_ in loads if address <= table < address + bytes_)
        for tag, value in entries:
            if tag in (DT_RPATH, DT_RUNPATH):
                content[strings + value] = 0


for file in sys.argv[1:]:
    with open(file, "r+b") as stream:
        content = bytearray(stream.read())
        clear(content)
        stream.seek(0)
        stream.write(content)
