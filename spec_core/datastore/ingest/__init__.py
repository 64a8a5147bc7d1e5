"""From whatever people bring to documents: files, folders, archives and tables become text.

``gather`` finds the sources and gives a ``Gathered``, which a store is built from and which
``survey`` reads once, to tell beforehand what would become of it.
"""

from .gathered import Gathered, gather
from .limits import Limits
from .survey import Survey, survey

__all__ = ["Gathered", "Limits", "Survey", "gather", "survey"]
