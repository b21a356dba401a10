"""Encodings of text and tables that nobody here reads, known by how a file begins."""

from __future__ import annotations

BEGINNINGS = (
    (b"\xfd7zXZ\0", "packed by xz", "xzcat"),
    (b"BZh", "packed by bzip2", "bzcat"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "zstdcat"),
    (b"\x04\x22\x4d\x18", "packed by lz4", "lz4cat"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so"),
    (b"\xff\xfe", "in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "in UTF-16", "iconv -f UTF-16 -t UTF-8"),
)
"""First bytes; in words; the command that writes the content to standard output."""
BZIP2_BLOCK = b"1AY&SY"  # behind the level of its packing: other text may begin with BZh


def unread_encoding(head: bytes) -> str | None:
    """Return the reason why a file that begins like this is not read, or None."""
    for begins, words, command in BEGINNINGS:
        if not head.startswith(begins) or (begins == b"BZh" and head[4:10] != BZIP2_BLOCK):
            continue
        return f"is {words}, which is not read; pipe it in: {command} FILE | millrace ... input=-"
    return None
