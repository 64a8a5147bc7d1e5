"""Each kind of file becomes the text that a person reads in it, and a survey tells so beforehand."""

import codecs
import csv
import io
import json

import nbformat
import pyarrow
import pyarrow.parquet
import pytest

from spec_core.datastore.corpus import Document, Skipped
from spec_core.datastore.ingest import Limits, gather, survey
from spec_core.datastore.ingest.chat import templated
from spec_core.messages import LANGUAGES, UserError

CHAT = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]
SHARED = [{"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}]


def read(path, **options):
    """Documents by name, and reasons by name."""
    corpus = gather([path], **options)
    items = [*corpus.skipped, *corpus]
    return ({item.name: item.text for item in items if isinstance(item, Document)},
            {item.name: item.reason for item in items if isinstance(item, Skipped)})


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def pdf(text):
    """A small PDF that shows one line."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
               b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + b"xref\n0 6\n0000000000 65535 f \n" + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)


def table(rows, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def parquet(columns):
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.py", "a.rs", "Makefile", "a.yaml", "a.unknown"])
def test_text_and_source_code_of_any_kind(tmp_path, name):
    assert read(written(tmp_path, name, "for i in x:\n    草\n"))[0] == {name: "for i in x:\n    草\n"}


def test_json_lines_choose_their_field(tmp_path):
    lines = "\n".join(json.dumps({"id": "x" * 50, "text": f"text {i}", "note": "n"}) for i in range(3)) + "\n\n"
    path = written(tmp_path, "a.jsonl", lines)
    assert read(path)[0] == {f"a.jsonl #{i + 1}": f"text {i}" for i in range(3)}
    assert list(read(path, field="note")[0].values()) == ["n"] * 3
    assert read(path, field="nowhere") == ({}, {"a.jsonl": "no_field"})


def test_without_a_known_name_the_longest_field_is_chosen(tmp_path):
    path = written(tmp_path, "a.jsonl", json.dumps({"id": "7", "poem": "long enough to be one"}))
    assert read(path)[0] == {"a.jsonl #1": "long enough to be one"}


@pytest.mark.parametrize("chat", [CHAT, SHARED, [{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}, CHAT[1]]])
@pytest.mark.parametrize("wrap", [lambda chat: {"messages": chat}, lambda chat: {"conversations": chat, "id": "7"}])
def test_chats_of_both_forms(tmp_path, chat, wrap, tokenizer):
    path = written(tmp_path, "a.jsonl", json.dumps(wrap(chat)))
    assert list(read(path)[0].values()) == ["Hello?\n\nHi."]
    tokenizer.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    try:
        assert list(read(path, render=templated(tokenizer, "x"))[0].values()) == ["<user>Hello?<assistant>Hi."]
        tokenizer.chat_template = "{{ raise_exception('no') }}"
        assert read(path, render=templated(tokenizer, "x")) == ({}, {"a.jsonl #1": "chat"})
    finally:
        tokenizer.chat_template = None
    with pytest.raises(UserError, match="chat template"):
        templated(tokenizer, "x")


@pytest.mark.parametrize(("value", "texts"), [
    ([{"text": "one"}, {"text": "two"}, {"other": 3}], ["one", "two"]),
    (["one", "two"], ["one", "two"]),
    ({"data": [{"text": "one"}], "version": 3}, ["one"]),
    ({"text": "one"}, ["one"]),
    (CHAT, ["Hello?\n\nHi."]),
    ([{"messages": SHARED}], ["Hello?\n\nHi."]),
])
def test_json_that_holds_records(tmp_path, value, texts):
    assert list(read(written(tmp_path, "a.json", json.dumps(value)))[0].values()) == texts


@pytest.mark.parametrize("text", ['{"name": "package", "version": "1"}', "[1, 2]", "{broken", "[" * 100_000])
def test_json_that_holds_none_is_a_text(tmp_path, text):
    assert read(written(tmp_path, "a.json", text))[0] == {"a.json": text}


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_tables_choose_their_column(tmp_path, name, delimiter):
    rows = [["id", "text"], ["1", 'with "quotes", and;\nlines'], ["2", "草" * 200_000]]
    path = written(tmp_path, name, table(rows, delimiter))
    assert list(read(path)[0].values()) == [rows[1][1], rows[2][1]]
    assert list(read(path, field="id")[0].values()) == ["1", "2"]


def test_parquet(tmp_path):
    path = written(tmp_path, "a.parquet", parquet({
        "n": [1, 2], "text": ["one", None], "chat": [CHAT, CHAT], "long": pyarrow.array(["x", "y"], pyarrow.large_string())}))
    assert list(read(path)[0].values()) == ["one"]
    assert list(read(path, field="chat")[0].values()) == ["Hello?\n\nHi."] * 2
    assert list(read(path, field="long")[0].values()) == ["x", "y"]
    assert read(path, field="n") == ({}, {"a.parquet": "no_field"})


def test_notebook_page_and_pdf(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell("print(1)", outputs=[nbformat.v4.new_output("stream", text="SECRET")])])
    assert list(read(written(tmp_path, "a.ipynb", nbformat.writes(notebook)))[0].values()) == ["# Title\n\nprint(1)"]
    page = "<html><style>p{}</style><script>alert(1)</script><h1>Head</h1><p>a &amp; b</p></html>"
    assert list(read(written(tmp_path, "a.html", page))[0].values()) == ["Head\na & b"]
    declared = '<meta charset="gb18030"><p>投机解码</p>'.encode("gb18030")
    assert list(read(written(tmp_path, "b.html", declared))[0].values()) == ["投机解码"]
    assert list(read(written(tmp_path, "a.pdf", pdf("Read me")))[0].values()) == ["Read me"]


def test_a_deep_page_is_read(tmp_path):
    assert list(read(written(tmp_path, "a.html", "<div>" * 20_000 + "deep"))[0].values()) == ["deep"]


@pytest.mark.parametrize(("name", "data", "reason"), [
    ("a.pdf", b"%PDF-1.4\nnonsense", "not_pdf"), ("b.pdf", pdf(""), "no_text"),
    ("a.parquet", b"PAR1nonsensePAR1", "not_parquet"), ("b.parquet", b"\0\1", "not_parquet"), ("b.zip", b"\0\1", "bad_archive"),
    ("a.ipynb", "{}", "not_notebook"), ("b.ipynb", "[1]", "not_notebook"),
    ("a.jsonl", "{}\n{broken", "not_jsonl"), ("b.jsonl", "{}", "no_field"), ("a.csv", "", "empty"),
    ("a.docx", b"PK\x03\x04", "office"), ("a.7z", b"7z\xbc\xaf\x27\x1c", "other_archive"),
    ("a.bin", b"ab\0cd", "binary"), ("c.pdf", b"\0\1\2", "not_pdf"), ("a.txt", codecs.BOM_UTF16_LE + b"\0\xd8", "encoding"),
])
def test_each_reason_has_a_sentence(tmp_path, name, data, reason):
    documents, reasons = read(written(tmp_path, name, data))
    assert documents == {} and reasons == {name: reason}
    for language in LANGUAGES:
        assert Skipped(name, reason).say(language)


def test_records_before_a_broken_line_are_kept(tmp_path):
    path = written(tmp_path, "a.jsonl", "\n".join(json.dumps({"text": str(i)}) for i in range(60)) + "\n{broken")
    documents, reasons = read(path)
    assert len(documents) == 60 and reasons == {"a.jsonl": "not_jsonl"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "big5", "shift_jis", "cp1251",
                                      "latin-1"])
def test_encodings_are_told_and_reported(tmp_path, encoding):
    text = {"shift_jis": "これは日本語の文章です。検索して下書きを作ります。", "cp1251": "Это текст на русском языке, и довольно длинный.",
            "big5": "這是一段繁體中文的文字，用來測試編碼的判斷是否正確。", "latin-1": "Voilà, l'été est déjà passé ; où êtes-vous allés, à Orléans ou à Besançon ? Nous étions très fâchés."
            }.get(encoding, "这是一段简体中文的文字，用来测试编码的判断是否正确。") * 5
    path = written(tmp_path, "a.txt", text.encode(encoding))
    assert list(read(path)[0].values()) == [text]
    (reported,) = survey(gather([path])).encodings
    assert codecs.lookup(reported).name and (reported == "utf-8") == encoding.startswith("utf-8")


def test_a_long_ascii_head_does_not_hide_the_encoding(tmp_path):
    text = "plain line\n" * 60_000 + "这是一段简体中文的文字，用来测试编码的判断是否正确。" * 20
    assert list(read(written(tmp_path, "a.txt", text.encode("gb18030")))[0].values()) == [text]


def test_the_content_decides_whatever_the_name_says(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    written(folder, "report.txt", pdf("Really a PDF"))
    written(folder, "plain.pdf", "really a text")
    written(folder, "rows.parquet", "also a text")
    assert read(folder)[0] == {"c/report.txt": "Really a PDF", "c/plain.pdf": "really a text", "c/rows.parquet": "also a text"}
    assert sorted(survey(gather([folder])).disguised) == [
        ("c/plain.pdf", "text"), ("c/report.txt", "pdf"), ("c/rows.parquet", "text")]


def test_a_survey_counts_and_names(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    written(folder, "a.txt", "text")
    written(folder, "b.jsonl", '{"text": "one", "n": 1}\n{"text": "two", "title": "T"}')
    written(folder, "c.bin", b"\0")
    corpus = gather([folder])
    shares = []
    found = survey(corpus, shares.append)
    assert (found.files, found.documents, found.characters) == (2, 3, 10)
    assert found.kinds == {"text": 1, "jsonl": 2} and found.reasons == {"binary": 1}
    assert [(f.name, f.records, f.example, f.chat) for f in found.fields] == [("text", 2, "one", False), ("title", 1, "T", False)]
    assert shares == sorted(shares) and corpus.size == found.size == sum(item.size for item in corpus)


def test_names_that_occur_twice_are_numbered_and_keep_their_kind(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, "x.jsonl", json.dumps({"text": folder}))
    documents = [item for item in gather([tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl"])]
    assert [(d.name, d.text) for d in documents] == [("x.jsonl #1", "a"), ("x (2).jsonl #1", "b")]


def test_a_large_file_is_skipped_and_a_large_corpus_refused(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        written(folder, name, "x" * 900)
    assert read(folder, limits=Limits(file_bytes=800))[1] == {"c/a.txt": "too_large", "c/b.txt": "too_large"}
    with pytest.raises(UserError, match="larger than"):
        read(folder, limits=Limits(total_bytes=1500))
    written(folder, "c.json", "[" + " " * 300 + "]")
    assert read(folder, limits=Limits(parsed_bytes=100))[1] == {"c/c.json": "parse_too_large"}
    with pytest.raises(UserError, match="documents"):
        read(folder, limits=Limits(documents=1))
