"""The tables of a history file, and what is read from them."""

from typing import Final

__all__ = ["APPLICATION_ID", "CREATE_TABLES", "LATEST_FIRST", "MAGIC", "RECORDS", "SELECT_ENTRIES", "VERSION"]

# "EzPt": the application id in the file's header.
APPLICATION_ID: Final = 0x457A5074
VERSION: Final = 1
MAGIC: Final = b"SQLite format 3\0"
CREATE_TABLES: Final = f"""
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, searched_title TEXT NOT NULL, changed REAL NOT NULL
    ) STRICT;
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        json TEXT NOT NULL,
        searched TEXT NOT NULL,
        UNIQUE (conversation, place)
    ) STRICT;
    PRAGMA application_id = {APPLICATION_ID};
    PRAGMA user_version = {VERSION};
"""
RECORDS: Final = """
    SELECT id, title, changed, (SELECT coalesce(sum(messages), 0) FROM entries WHERE conversation = id)
    FROM conversations
"""
SELECT_ENTRIES: Final = "SELECT json FROM entries WHERE conversation = ? ORDER BY place"
LATEST_FIRST: Final = " ORDER BY changed DESC, conversations.rowid DESC LIMIT ?"
