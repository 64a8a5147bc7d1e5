"""Each kind of file becomes the text that a person reads in it, and a survey tells so beforehand."""

import codecs
import csv
import io
import json
import zipfile

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


WESTERN = {
    "French": "Voilà un café déjà vu, très naïf ; l'élève a mangé des crêpes à Noël, où ça coûte trois sous.",
    "French words": "café déjà vu naïve", "German": "Die Straße ist für Fußgänger geöffnet; Müller hört schöne Töne über Köln.",
    "a German word": "Grüße", "Spanish": "¿Dónde está el niño? El año pasado comió piña y jalapeños.", "a Spanish word": "mañana",
    "Portuguese": "A educação não é opção; João comeu pão e maçã às três horas, amanhã há coração.", "a Portuguese name": "São João",
    "Italian": "Perché la città è più bella, così però non può essere; è già lunedì.", "Italian words": "è così",
    "Catalan": "Això és una cançó, col·lecció d'història; l'àrea és gran.", "Swedish": "Räksmörgås på bordet, åtta öar och älgar i Ängelholm.",
    "Danish": "Rødgrød med fløde på en ø; blåbær og æbler spises også.", "Norwegian": "Blåbærsyltetøy på øya, først så kjører vi hjem.",
    "Finnish": "Hyvää päivää, älä mene yöllä metsään, äiti.", "Dutch": "Één coördinator, een financiële reünie: geïnteresseerd?",
    "Icelandic": "Það er gott veður í dag, þú ert góður maður, æðislegt.", "names": "Müller, José, Søren, François, Åke, Núñez",
    "code": "int größe = 3;  /* données */", "signs": "20° and 5 m² for £5 «à Paris»", "capitals": "ÉTÉ À LA PLAGE, GRÖSSE"}
OTHERS = {
    "Czech": ("Příliš žluťoučký kůň úpěl ďábelské ódy; český řetězec.", ("cp1250",)),
    "Polish": ("Zażółć gęślą jaźń; proszę państwa, książka jest świetna, że aż.", ("cp1250",)),
    "Hungarian": ("Árvíztűrő tükörfúrógép, a magyar nyelv őrült jó, győzelem.", ("cp1250", "iso8859-2")),
    "Lithuanian": ("Lietuvių kalba yra graži, ąžuolas, šuo, žąsis ir čia gyvena žmonės.", ("cp1257",)),
    "Turkish": ("Türkçe güzel bir dildir, şu ağaç ışık ve İstanbul'da yağmur yağıyor.", ("cp1254",)),
    "Russian": ("Съешь ещё этих мягких французских булок, да выпей чаю.", ("cp1251", "iso8859-5", "cp866")),
    "Greek": ("Η ελληνική γλώσσα είναι πολύ όμορφη και παλιά.", ("cp1253",)),
    "Arabic": ("مرحبا بالعالم هذا نص عربي للاختبار فقط.", ("cp1256",)),
    "Japanese": ("これは日本語の文章です。文字コードの判定を確かめるために使います。", ("shift_jis", "euc-jp", "utf-16")),
    "Chinese": ("这是一段简体中文的文字，用来测试编码的判断是否正确。", ("gb18030", "utf-16")),
    "Traditional Chinese": ("這是一段繁體中文的文字，用來測試編碼的判斷是否正確。", ("big5",)),
    "Korean": ("이것은 한국어 문장입니다. 인코딩 판별을 시험합니다.", ("euc-kr",)),
    "Western with a mark": ("café déjà vu", ("utf-16", "utf-8-sig"))}


@pytest.mark.parametrize("lines", [1, 3, 10, 300])
@pytest.mark.parametrize("language", WESTERN)
def test_western_texts_are_read_right_however_short(tmp_path, language, lines):
    text = (WESTERN[language] + "\n") * lines
    data = text.encode("latin-1")
    assert list(read(written(tmp_path, "a.txt", data))[0].values()) == [text]
    assert list(read(written(tmp_path, "a.html", b"<p>" + data + b"</p>"))[0].values()) == ["\n".join(
        " ".join(line.split()) for line in text.splitlines())], "a page that declares nothing"


@pytest.mark.parametrize("lines", [1, 3, 20])
@pytest.mark.parametrize(("language", "encoding"), [(name, encoding) for name, (_, all) in OTHERS.items() for encoding in all])
def test_what_is_not_western_is_not_taken_for_it(tmp_path, language, encoding, lines):
    text = (OTHERS[language][0] + "\n") * lines
    assert list(read(written(tmp_path, "a.txt", text.encode(encoding)))[0].values()) == [text]


def test_a_guess_is_told_and_shows_the_text(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    written(folder, "a.txt", ("plain\n" * 99 + "un café noir").encode("latin-1"))
    written(folder, "b.jsonl", (json.dumps({"text": "plain"}) + "\n" + json.dumps({"text": "déjà"}, ensure_ascii=False)).encode("latin-1"))
    written(folder, "c.html", "<p>où".encode("latin-1"))
    for name, data in (("marked.txt", "café".encode("utf-16")), ("utf8.txt", "café"), ("ascii.txt", "cafe"),
                       ("declared.html", '<meta charset="latin-1">é'.encode("latin-1"))):
        written(folder, name, data)
    guessed = {name: (encoding, passage) for name, encoding, passage in survey(gather([folder])).guessed}
    assert {name: encoding for name, (encoding, _) in guessed.items()} == dict.fromkeys(["c/a.txt", "c/b.jsonl", "c/c.html"], "cp1252")
    assert "café noir" in guessed["c/a.txt"][1] and guessed["c/b.jsonl"][1] == "déjà" and guessed["c/c.html"][1] == "où"


def test_a_page_is_not_believed_to_be_in_what_it_cannot_be(tmp_path):
    for declared in ("utf-16", "utf-8", "nonsense", "rot13"):
        page = f'<meta charset="{declared}"><p>Ça va déjà'.encode("latin-1")
        assert list(read(written(tmp_path, "a.html", page))[0].values()) == ["Ça va déjà"], declared


@pytest.mark.parametrize(("text", "broken"), [('{"text": "unterminated', True), ("[" * 5000 + "]" * 5000, True), ("no JSON", True),
                                              ('{"a": 1} {"b": 2}', True), ('{"name": "package"}', False), ("[1, 2]", False)])
def test_json_that_cannot_be_parsed_is_announced(tmp_path, text, broken):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a.JSON", text)
    for path, name in ((written(tmp_path, "a.json", text), "a.json"), (tmp_path / "x.zip", "x.zip/a.JSON")):
        found = survey(gather([path]))
        assert found.documents == 1 and found.broken == ([name] if broken else []) and not found.disguised


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
