#!/usr/bin/env python3
"""Writes tokens of SentencePiece's Python package for some texts, the reference of tests/datasets/text_pairs_test.cpp.

    python3 make_tokens.py        (sentencepiece 0.2.0, the version of scripts/sentencepiece.txt)

reference/tokens.tsv contains the texts that each tokenizer is trained with. reference/tokens.inc has one tokenizer per
line: its type, the requested number of pieces, the number of pieces, the token ids of the source of the first rows, and
the texts that these ids decode to.
"""
import io
import json
import pathlib

import sentencepiece

FOLDER = pathlib.Path(__file__).parent / "reference"
ROWS = 12
SUBJECTS = ["The tenon", "A mortise", "Every joint", "Der Zapfen", "Une mortaise", "\u307b\u305e", "\u0428\u0438\u043f"]
VERBS = ["fits", "is glued into", "does not leave", "h\u00e4lt", "tient dans", "joins"]
OBJECTS = ["the other.", "its cheek, 3/8\u2033 deep!", "\u201eEiche\u201c \u2014 immer", "l\u2019\u00e9paule", "oak & ash",
           "2 \u00d7 4\u00a0beams", "\uff21\uff22\uff23"]


def pairs():
    """Yields about 200 pairs of similar texts, without early repetitions."""
    for i in range(200):
        subject, verb, thing = SUBJECTS[i % 7], VERBS[i * 5 % 6], OBJECTS[i * i % 7]
        yield f"{subject} {verb} {thing}", f"{thing} {i} {verb} {subject.lower()}"


def train(texts, model_type, vocabulary_size):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, model_type=model_type, vocab_size=vocabulary_size,
        hard_vocab_limit=False, character_coverage=0.9995, pad_id=0, unk_id=1, bos_id=2, eos_id=3, num_threads=1,
        max_sentence_length=65536, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


rows = list(pairs())
(FOLDER / "tokens.tsv").write_text("source\ttarget\n" + "".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
texts = [text for row in rows for text in row]
lines = [f"// sentencepiece {sentencepiece.__version__}, made by tests/parity/make_tokens.py.\n"
         "// type, requested number of pieces, number of pieces, token ids of the first rows, their decoded texts\n"]
for model_type, vocabulary_size in [("unigram", 120), ("unigram", 5000), ("bpe", 150), ("char", 200)]:
    tokenizer = train(texts, model_type, vocabulary_size)
    encoded = [tokenizer.encode(source) for source, _ in rows[:ROWS]]
    ids = ", ".join("{" + ", ".join(map(str, tokens)) + "}" for tokens in encoded)
    decoded = ", ".join(json.dumps(tokenizer.decode(tokens), ensure_ascii=False) for tokens in encoded)
    lines.append(f'{{"{model_type}", {vocabulary_size}, {tokenizer.get_piece_size()}, {{{ids}}}, {{{decoded}}}}},\n')
(FOLDER / "tokens.inc").write_text("".join(lines), encoding="utf-8")
