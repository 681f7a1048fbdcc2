#!/usr/bin/env python3
"""Writes the seeds of the fuzz target `tokenizer`: make_seeds_of_tokenizer.py FOLDER

Each has a text to tokenize in its first line, and a SentencePiece model after it. Needs the package sentencepiece.
"""
import io
import pathlib
import struct
import sys
import tempfile

import sentencepiece

TEXTS = ["the cat sat on the mat", "a dog ran to the cat", "hello world of tokens", "cats and dogs", "ab ba aab abb"] * 4
RULES = "41\t61\n42\t62\nC0\t41 300\n41 42\t7A\n"
LEAF = 1 << 31


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, minloglevel=2, hard_vocab_limit=False, character_coverage=1.0,
        **options)
    return model.getvalue()


def encode_varint(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def make_field(number, data):
    """A field of a message of Protocol Buffers."""
    return encode_varint(number << 3 | 2) + encode_varint(len(data)) + data


def make_piece(text):
    """A user-defined symbol."""
    return make_field(1, make_field(1, text) + b"\x15" + struct.pack("<f", -1) + b"\x18\x04")


def make_unit(offset, label, has_value):
    return offset << 10 | has_value << 8 | label


def make_table(following, place=0, texts=b"b\0"):
    """A table of character replacements, in which the letter a leads to the unit `following`."""
    units = [LEAF] * 256
    letter = 1 ^ ord("a")
    units[0] = make_unit(1, 0, False)
    units[letter] = make_unit(letter ^ following, ord("a"), True)
    if following < 256:
        units[following] = LEAF | place
    trie = struct.pack("<256I", *units)
    return struct.pack("<I", len(trie)) + trie + texts


def make_seeds():
    plain = {"normalization_rule_name": "identity"}
    unigram = train(model_type="unigram", vocab_size=40, **plain)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.write(RULES)
        rules.flush()
        with_rules = train(model_type="bpe", vocab_size=40, normalization_rule_tsv=rules.name)

    def with_table(table):
        return unigram + make_field(3, make_field(2, table))

    return {
        "unigram": (b"the cat  Sat", unigram),
        "bpe": (b"hello cats", train(model_type="bpe", vocab_size=40, pad_id=3, **plain)),
        "char": (b"dog \xff", train(model_type="char", vocab_size=30, user_defined_symbols=["ab", "abb"], **plain)),
        "word": (b"cats and dogs", train(model_type="word", vocab_size=25, treat_whitespace_as_suffix=True, **plain)),
        "bytes": (b"\xe2\x82\xac x", train(model_type="bpe", vocab_size=300, byte_fallback=True, **plain)),
        "rules": (b"ABC\xc3\x80", with_rules),
        "replacements_outside": (b"aaa", with_table(make_table(0x1FFF00))),
        "replacement_text_outside": (b"aaa", with_table(make_table(200, place=0x7000000))),
        "replacement_cycle": (b"a" * 60, with_table(make_table(0))),
        "replacements_cut": (b"a", with_table(struct.pack("<I", 1030) + bytes(1027))),
        "no_end_of_text": (b"a", with_table(make_table(200, texts=b"b"))),
        "empty_trie": (b"a", with_table(struct.pack("<I", 0) + b"b\0")),
        "symbols": (b"q" * 80, unigram + b"".join(make_piece(b"q" * count) for count in range(1, 71)))}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (text, model) in make_seeds().items():
        (folder / name).write_bytes(text + b"\n" + model)


if __name__ == "__main__":
    main()
