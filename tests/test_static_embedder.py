"""The default embedder: its values, its tokenization, tables of one's own, and how they are trained."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from tiered_memory.embedders import StaticEmbedder, static
from tiered_memory.embedders.wordpiece import WordPiece, words
from tiered_memory.errors import ConfigError


def cosine(first, second):
    a, b = StaticEmbedder().embed([first, second])
    return float(a @ b)


class TestVectors:
    def test_reference_values(self):
        """The shipped table gives "hello world" its published vector."""
        vector = StaticEmbedder().embed(["hello world"])[0]
        np.testing.assert_allclose(vector[:3], [-0.01223086, 0.05471326, -0.03932432], atol=1e-7)

    def test_unit_length(self):
        """Every vector has length 1."""
        vectors = StaticEmbedder().embed(["hello world", "", "安娜", "word " * 50_000])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    @pytest.mark.parametrize("text", ["", " \n", "\0", "🎉", "x" * 101])
    def test_no_known_word(self, text):
        """A text without a known word gets the first axis, since a zero vector has no cosine."""
        assert StaticEmbedder().embed([text])[0].tolist() == [1.0] + [0.0] * 127

    def test_unknown_words_are_skipped(self):
        """A word that the vocabulary doesn't cover changes nothing."""
        assert cosine("I like tea", "I like 🎉 tea") == pytest.approx(1)

    def test_spelling(self):
        """Case, accents and spacing change nothing."""
        assert cosine("The café, please.", "  THE CAFE ,please .") == pytest.approx(1)

    def test_long_texts(self):
        """A text repeated beyond the size of the table has the vector of the text itself."""
        assert cosine("blue tea", "blue tea " * 20_000) == pytest.approx(1, abs=1e-5)

    def test_meaning(self):
        """A restatement is well above the floor, another topic is below it."""
        restated = cosine("Alice likes hiking in the mountains", "Alice enjoys mountain hikes")
        other = cosine("Alice likes hiking in the mountains", "The invoice is due on Friday")
        assert restated > 0.7
        assert other < StaticEmbedder().floor < restated


class TestDeclared:
    def test_figures(self):
        """The default has 128 dimensions, no limit, a floor of 0.2, and an id with a version."""
        embedder = StaticEmbedder()
        assert (embedder.id, embedder.dimensions) == ("static128-v1", 128)
        assert (embedder.max_tokens, embedder.floor) == (None, 0.2)
        assert repr(embedder) == "<StaticEmbedder static128-v1>"

    def test_the_id_stands_for_the_table(self):
        """The shipped table is the one that the id was given to: another table needs another id."""
        content = (files("tiered_memory.embedders") / "static128.npz").read_bytes()
        assert sha256(content).hexdigest().startswith("82a49ffc2677c4f5")

    def test_fit(self):
        """A text of any length fits."""
        text = "word " * 100_000
        assert StaticEmbedder().fit(text) is text


class TestLoading:
    def test_importing_the_package_stays_light(self):
        """Naming the embedders' package imports neither numpy nor any embedder."""
        code = "import sys, tiered_memory.embedders; assert 'numpy' not in sys.modules"
        subprocess.run([sys.executable, "-I", "-c", code], check=True)

    def test_an_unknown_name(self):
        """A name that the package doesn't have is an AttributeError."""
        import tiered_memory.embedders

        with pytest.raises(AttributeError, match="Nonesuch"):
            _ = tiered_memory.embedders.Nonesuch

    def test_once_in_a_process(self, monkeypatch):
        """However many embedders and threads, the table is read once."""
        reads = []
        read = static._read
        monkeypatch.setattr(static, "_read", lambda table: reads.append(table) or read(table))
        static._load.cache_clear()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda text: StaticEmbedder().embed([text]), "abcdefgh"))
        assert reads == [None]


class TestWordPiece:
    VOCABULARY = ("un", "##afford", "##able", "able", "!", "-", "$", "the", "cafe", "安", "娜", "x")

    @pytest.fixture
    def wordpiece(self):
        return WordPiece({piece: at for at, piece in enumerate(self.VOCABULARY)}, unknown=(-1,))

    def spelled(self, wordpiece, text):
        return [self.VOCABULARY[at] if at >= 0 else None for at in wordpiece.ids(text)]

    def test_longest_match(self, wordpiece):
        """A word is cut into the longest known pieces, from its start."""
        assert self.spelled(wordpiece, "Unaffordable") == ["un", "##afford", "##able"]

    def test_unknown_words(self, wordpiece):
        """A word with an unknown rest is unknown as a whole, and so is one of more than 100 characters."""
        assert self.spelled(wordpiece, "the unthe cafe " + "x" * 101) == ["the", None, "cafe", None]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The CAFÉ!", ["the", "cafe", "!"]),
            ("co-op $5", ["co", "-", "op", "$", "5"]),
            ("don't", ["don", "'", "t"]),
            ("安娜 ok", ["安", "娜", "ok"]),
            ("a\u00a0b\tc\u2003d\r\ne", ["a", "b", "c", "d", "e"]),
            ("a\0b\u200bc\ufffdd", ["abcd"]),
            ("ΌΣΟΣ İ", ["οσοσ", "i"]),
            ("„quoted“…", ["„", "quoted", "“", "…"]),
            ("", []),
        ],
    )
    def test_words(self, text, expected):
        """White space, punctuation and CJK signs part words; case, accents and invisible characters go."""
        assert words(text) == expected


def trainer():
    file = Path(__file__).parents[1] / "scripts" / "train_static.py"
    spec = spec_from_file_location("train_static", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestOwnTable:
    PIECES = ("red", "blue", "tea", "##pot")

    def table(self, file, rows):
        trainer().save(file, np.array(rows, np.float32), self.PIECES)
        return file

    def test_read(self, tmp_path):
        """A table that was written is read back, with its own dimensions and no floor."""
        table = self.table(tmp_path / "own.npz", [[3, 0], [0, 4], [-1, 1], [1, 1]])
        embedder = StaticEmbedder(table)
        assert (embedder.dimensions, embedder.floor) == (2, None)
        np.testing.assert_allclose(embedder.embed(["red blue", "Teapot"]), [[0.6, 0.8], [0, 1]], atol=0.01)

    def test_id(self, tmp_path):
        """The id follows the content of the file, not its name."""
        one = StaticEmbedder(self.table(tmp_path / "one.npz", np.eye(4)))
        copy = StaticEmbedder(self.table(tmp_path / "copy.npz", np.eye(4)))
        other = StaticEmbedder(self.table(tmp_path / "other.npz", np.eye(4)[::-1]))
        assert one.id == copy.id != other.id
        assert one.id.startswith("static:")

    def test_missing(self, tmp_path):
        """A file that isn't there is refused when the embedder is made, by name."""
        with pytest.raises(ConfigError, match=r"none\.npz"):
            StaticEmbedder(tmp_path / "none.npz")

    @pytest.mark.parametrize("content", [b"", b"not a table", b"PK\x03\x04 cut off"])
    def test_not_a_table(self, tmp_path, content):
        """A file of another kind is refused when it is first needed."""
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(ConfigError, match=r"bad\.npz"):
            StaticEmbedder(tmp_path / "bad.npz").embed(["a"])

    def test_without_its_arrays(self, tmp_path):
        """A file without the arrays of a table is refused."""
        np.savez(tmp_path / "bad.npz", table=np.eye(2))
        with pytest.raises(ConfigError, match="scale"):
            StaticEmbedder(tmp_path / "bad.npz").embed(["a"])


class TestTraining:
    def toy(self):
        """A table to start from, and texts of 2 to 8 of 50 pieces with targets from another, hidden table."""
        rng = np.random.default_rng(0)
        hidden, start = rng.normal(size=(2, 50, 8)).astype(np.float32)
        ids = [rng.integers(0, 50, size=rng.integers(2, 9)) for _ in range(400)]
        targets = np.stack([hidden[text].sum(axis=0) for text in ids])
        return start / 10, ids, targets / np.linalg.norm(targets, axis=1, keepdims=True)

    def test_raises_the_cosine(self):
        """Training turns the texts' means towards the teacher, on texts that it hasn't seen too."""
        training = trainer()
        start, ids, targets = self.toy()
        assert training.agreement(start, ids, targets) < 0.2
        *_, table = training.train(start, ids[:300], targets[:300], 60, np.random.default_rng(1))
        assert training.agreement(table, ids[300:], targets[300:]) > 0.9

    def test_same_seed_same_table(self):
        """Training depends on nothing but its inputs and the seed."""
        training = trainer()
        tables = [list(training.train(*self.toy(), 2, np.random.default_rng(1)))[-1] for _ in range(2)]
        np.testing.assert_array_equal(*tables)

    def test_glosses(self, tmp_path):
        """Definitions and quoted examples are taken from WordNet's files, their licence is not."""
        line = '00001740 00 a 01 able 0 000 | (followed by `to\') having means; "able to swim"; "she was able"'
        for part in ("noun", "verb", "adj", "adv"):
            (tmp_path / f"data.{part}").write_text(f"  1 This software and database is being provided\n{line}\n")
        expected = ["(followed by `to') having means", "able to swim", "she was able"]
        assert list(trainer().glosses(tmp_path)) == expected * 4
