"""The one module that imports lxml: the second, independent reading of a `-q -x` text, and its agreement with the scanner's."""

from __future__ import annotations

from lxml import etree

from harness.text.model import BLOCK, CLOSED, EMPTY, LINE, Node
from harness.text.scanner import Scan, tidy
from harness.words.errors import InputError

Element = etree._Element  # noqa: SLF001 - lxml has no public name for it
"""An element as lxml has it."""


def parse(data: bytes, name: str = "capture", first_line: int = 1) -> etree._Element:
    """The tree of ``data``, one element in UTF-8, read strictly: no entities, no network, no DTD, lxml's own limits on depth and size.

    ``first_line`` is the file's line on which ``data`` starts.  Raises InputError with the line for text that is not well formed.
    """
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line = (error.lineno or 1) + first_line - 1
        reason = str(error.msg or error).split(", line ")[0]
        raise InputError(f"{name}:{line}: not well-formed XML: {reason}; repair the line or capture again") from None


def agree(tree: etree._Element, scan: Scan, name: str = "capture") -> None:
    """Holds both readings against each other, element by element: tag, text, number of children, attributes, text between elements.

    Raises InputError with the line of the first element on which they differ.
    """
    stack = [scan.root]
    stray = attributes = 0
    for element in tree.iter():
        node = stack.pop() if stack else None
        if node is None or element.tag != node.tag or len(element) != len(node.children):
            raise _differ(name, node, element, "the elements")
        if node.children:
            stack.extend(reversed(node.children))
            text = element.text
            stray += bool(text and not text.isspace())
        elif element.text != node.text and not _same_text(element.text or "", node):
            raise _differ(name, node, element, "the text")
        tail = element.tail
        if tail and not tail.isspace():
            stray += 1
        if node.attributes:
            attributes += len(node.attributes)
            if dict(element.items()) != node.attributes:
                raise _differ(name, node, element, "the attributes")
    if stack:
        raise _differ(name, stack[-1], None, "the elements")
    if attributes != tree.xpath("count(//@*)"):
        raise _differ(name, scan.root, tree, "the attributes")
    if stray or scan.strays:
        _agree_on_strays(tree, scan, name)


def _same_text(text: str, node: Node) -> bool:
    if node.form == LINE:
        return (tidy(text) if "\n" in text else text) == (node.text or "")
    if node.form == CLOSED:
        return not text
    return node.form in {BLOCK, EMPTY} and tidy(text) == (node.text or "")


def _agree_on_strays(tree: etree._Element, scan: Scan, name: str) -> None:
    """Text that stands between elements, parent by parent."""
    stack = [(tree, scan.root)]
    while stack:
        element, node = stack.pop()
        if not node.children:
            continue
        text = tidy((element.text or "") + "".join(child.tail or "" for child in element))
        if text != scan.strays.get(id(node), ""):
            raise _differ(name, node, element, "the text between the elements")
        stack.extend(zip(element, node.children, strict=True))


def _differ(name: str, node: Node | None, element: etree._Element | None, what: str) -> InputError:
    line = node.line if node is not None else 1
    tag = node.tag if node is not None else (element.tag if element is not None else "?")
    return InputError(f"{name}:{line}: line scanner and XML parser disagree on {what} of <{tag}>; repair the line or capture again")
