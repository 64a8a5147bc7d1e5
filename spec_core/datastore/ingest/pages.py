"""Files that hold more than text: of a page, a notebook and a PDF, what a person reads."""

from __future__ import annotations

import io
import logging

from .text import Unreadable, decode

NOT_READ = ("script", "style", "template", "noscript", "svg")


def html_text(data: bytes) -> tuple[str, str]:
    """The text of a page and its encoding, which the page itself may declare.

    Raises:
        Unreadable: as ``decode``.
    """
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector

    text, encoding = decode(data, EncodingDetector.find_declared_encoding(data, is_html=True) or "")
    soup = BeautifulSoup(text, "html.parser")
    for element in soup(NOT_READ):
        element.decompose()
    lines = (" ".join(line.split()) for line in soup.get_text("\n").splitlines())
    return "\n".join(line for line in lines if line), encoding


def notebook_text(data: bytes) -> tuple[str, str]:
    """The cells of a notebook, in order; what they printed is left out."""
    import nbformat

    text, encoding = decode(data)
    try:
        notebook = nbformat.reads(text, as_version=4)
        return "\n\n".join(str(cell.source) for cell in notebook.cells if cell.source), encoding
    except Exception as error:  # beside its own errors, whatever a hostile notebook leads it to
        raise Unreadable("not_notebook") from error


def pdf_text(data: bytes) -> str:
    """The text of a PDF, page after page."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every small fault
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("encrypted")
        text = "\n".join(page.extract_text() for page in reader.pages)
    except Unreadable:
        raise
    except Exception as error:  # beside its own errors, whatever a hostile file leads it to
        raise Unreadable("not_pdf") from error
    if not text.strip():
        raise Unreadable("no_text")
    return text
