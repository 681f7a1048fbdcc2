#!/usr/bin/env python3
"""Measures the ROUGE-L of generated synopses, compared with a baseline: the first words of the descriptions.

    python3 bench/summaries.py DATA [--config RUN.toml --predictions FILE] [--examples 10]

DATA is the folder that `scripts/example-data descriptions` wrote. FILE is the output of `host predict --config RUN.toml
--data validation --outputs generated --output FILE.safetensors`. It needs the Python package sentencepiece (0.2.0),
which trains the same tokenizer as the run. ROUGE-L (C.-Y. Lin, "ROUGE: A Package for Automatic Evaluation of
Summaries", 2004) is the F1 of the longest common subsequence of words, averaged over the pairs of validation.tsv. Words
are runs of lower-case letters and digits, as in the package rouge-score without stemming. The baseline is the first k
words of a description, with the k that is best on every tenth row of train.tsv.
"""
import argparse
import array
import io
import json
import pathlib
import re
import struct
import tomllib


def read_pairs(path):
    rows = path.read_text(encoding="utf-8").rstrip("\n").split("\n")[1:]
    return [tuple(row.split("\t")[1:]) for row in rows]


def split_words(text):
    return re.findall("[a-z0-9]+", text.lower())


def rouge_l(predicted, target):
    """Returns the F1 score of two lists of words."""
    lengths = [0] * (len(target) + 1)
    for word in predicted:
        diagonal = 0
        for place, wanted in enumerate(target):
            above = lengths[place + 1]
            lengths[place + 1] = diagonal + 1 if word == wanted else max(above, lengths[place])
            diagonal = above
    return 2 * lengths[-1] / (len(predicted) + len(target)) if lengths[-1] else 0.0


def mean_rouge_l(pairs):
    scores = [rouge_l(split_words(predicted), split_words(target)) for predicted, target in pairs]
    return sum(scores) / len(scores)


def first_words(text, count):
    return " ".join(split_words(text)[:count])


def read_tensor(path, name):
    """Returns the rows of an int64 tensor [rows, columns] of a safetensors file."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    entry = json.loads(content[8:8 + size])[name]
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    numbers = array.array("q", content[begin:end])
    columns = entry["shape"][1]
    return [numbers[i:i + columns].tolist() for i in range(0, len(numbers), columns)]


def train_tokenizer(texts, params):
    """Trains a tokenizer like the dataset text_pairs. texts: both columns of each row, alternating."""
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, model_type=params.get("model_type", "unigram"),
        vocab_size=params.get("vocabulary_size", 8000), hard_vocab_limit=False, character_coverage=0.9995, pad_id=0,
        unk_id=1, bos_id=2, eos_id=3, max_sentence_length=65536, num_threads=1, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def read_generated(data, run_file, predictions):
    params = tomllib.loads(run_file.read_text())["data"]["train"]["params"]
    tokenizer = train_tokenizer([text for pair in read_pairs(data / "train.tsv") for text in pair], params)
    texts = []
    for ids in read_tensor(predictions, "generated"):
        if 3 in ids:
            ids = ids[:ids.index(3)]
        texts.append(tokenizer.decode(ids))
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--config", type=pathlib.Path)
    parser.add_argument("--predictions", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=10)
    arguments = parser.parse_args()
    validation = read_pairs(arguments.data / "validation.tsv")
    train = read_pairs(arguments.data / "train.tsv")[::10]
    best = max(range(4, 21), key=lambda k: mean_rouge_l((first_words(text, k), target) for text, target in train))
    baseline = mean_rouge_l((first_words(text, best), target) for text, target in validation)
    print(f"first {best} words: ROUGE-L {baseline:.4f} of {len(validation)} pairs")
    if not arguments.predictions:
        return
    generated = read_generated(arguments.data, arguments.config, arguments.predictions)
    if len(generated) != len(validation):
        parser.error(f"{arguments.predictions} has {len(generated)} rows; validation.tsv has {len(validation)}")
    score = mean_rouge_l((text, target) for text, (_, target) in zip(generated, validation))
    print(f"generated: ROUGE-L {score:.4f}")
    every = max(1, len(validation) // max(1, arguments.examples))
    for i in range(0, len(validation), every)[:arguments.examples]:
        print(f"\n{validation[i][0][:300]}\n  reference: {validation[i][1]}\n  generated: {generated[i]}")


if __name__ == "__main__":
    main()
