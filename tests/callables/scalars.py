"""Dates, times, identifiers, paths, bytes and addresses: text in JSON, objects in Python."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from os import PathLike
from pathlib import Path, PurePath, PurePosixPath
from re import Pattern
from typing import Annotated, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import AnyUrl, AwareDatetime, Base64Bytes, ByteSize, Field, HttpUrl, Json, NaiveDatetime, SecretStr

from tests.callables.cases import Case, takes

__all__ = ["CASES"]

ID = "12345678-1234-5678-1234-567812345678"


def text(form: str) -> dict[str, str]:
    return {"type": "string", "format": form}


BASE64 = {"type": "string", "contentEncoding": "base64"}

CASES: Final[list[Case]] = [
    takes(
        datetime,
        text("date-time"),
        valid=[
            ("2024-05-06T07:08:09Z", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
            ("2024-05-06T07:08:09.5+02:00", datetime(2024, 5, 6, 7, 8, 9, 500000, timezone(timedelta(hours=2)))),
        ],
        lenient=[("2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9)), ("2024-05-06", datetime(2024, 5, 6))],
        objects=[datetime(2024, 5, 6)],
        invalid=["soon", "", None, "2024-13-01T00:00:00Z", [], {}, True],
    ),
    takes(
        date,
        text("date"),
        valid=[("2024-05-06", date(2024, 5, 6)), ("2024-02-29", date(2024, 2, 29))],
        lenient=[("2024-05-06T00:00:00", date(2024, 5, 6))],
        objects=[date(2024, 5, 6)],
        invalid=["2023-02-29", "tomorrow", None, "", "2024-05-06T07:00:00", {"year": 2024}],
    ),
    takes(
        time,
        text("time"),
        valid=[("07:08:09Z", time(7, 8, 9, tzinfo=UTC))],
        lenient=[("07:08", time(7, 8)), ("07:08:09", time(7, 8, 9))],
        objects=[time(7, 8)],
        invalid=["noon", "25:00", None, [7, 8]],
    ),
    takes(
        timedelta,
        text("duration"),
        valid=[("PT90M", timedelta(minutes=90)), ("P1DT2H", timedelta(days=1, hours=2))],
        lenient=[(90, timedelta(seconds=90)), ("01:30:00", timedelta(minutes=90))],
        objects=[timedelta(days=1)],
        invalid=["a while", None, [], {}],
    ),
    takes(
        AwareDatetime,
        text("date-time"),
        valid=[("2024-05-06T07:08:09Z", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))],
        invalid=["2024-05-06T07:08:09", "x"],
    ),
    takes(
        NaiveDatetime,
        text("date-time"),
        lenient=[("2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9))],
        invalid=["2024-05-06T07:08:09Z"],
    ),
    takes(
        Decimal,
        {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]},
        valid=[("1.10", Decimal("1.10")), (5, Decimal(5)), (0.5, Decimal("0.5"))],
        objects=[Decimal("2.50")],
        invalid=["dear", None, [], {}, "1,5", True],
    ),
    takes(
        UUID,
        text("uuid"),
        valid=[(ID, UUID(ID))],
        lenient=[(ID.replace("-", ""), UUID(ID))],
        objects=[UUID(ID)],
        invalid=["abc", "", None, 5, []],
    ),
    takes(
        Path,
        text("path"),
        valid=[("tea/green", Path("tea/green")), ("", Path())],
        objects=[Path("a")],
        invalid=[5, None, ["a"]],
    ),
    takes(PurePath, text("path"), valid=[("tea", PurePath("tea"))], invalid=[5, None]),
    takes(PurePosixPath, text("path"), valid=[("tea", PurePosixPath("tea"))], invalid=[5]),
    takes(PathLike[str], text("path"), valid=[("tea", PurePath("tea"))], invalid=[5]),
    takes(
        bytes,
        BASE64,
        valid=[("dGVh", b"tea"), ("", b""), ("/+8=", b"\xff\xef")],
        objects=[b"tea"],
        invalid=["t=", "not base64!", 5, None, [1]],
    ),
    takes(bytearray, BASE64, valid=[("dGVh", bytearray(b"tea"))], objects=[bytearray(b"x")], invalid=["t=", 5, None]),
    takes(
        Annotated[bytes, Field(max_length=3)],
        {**BASE64, "maxLength": 3},
        lenient=[("dGVh", b"tea")],
        invalid=["dGVhIQ==", "t="],
    ),
    takes(Base64Bytes, {**text("base64"), "contentEncoding": "base64"}, valid=[("dGVh", b"tea")], invalid=[5, None]),
    takes(
        IPv4Address, text("ipv4"), valid=[("127.0.0.1", IPv4Address("127.0.0.1"))], invalid=["300.1.1.1", "x", None, []]
    ),
    takes(IPv6Address, text("ipv6"), valid=[("::1", IPv6Address("::1"))], invalid=["127.0.0.1", "x"]),
    takes(
        IPv4Network, text("ipv4network"), valid=[("10.0.0.0/8", IPv4Network("10.0.0.0/8"))], invalid=["10.0.0.1/8", "x"]
    ),
    takes(
        AnyUrl,
        {**text("uri"), "minLength": 1},
        valid=[("ftp://a.org/b", AnyUrl("ftp://a.org/b"))],
        invalid=["no url", "", 5, None],
    ),
    takes(
        HttpUrl,
        {**text("uri"), "minLength": 1, "maxLength": 2083},
        valid=[("https://a.org/b", HttpUrl("https://a.org/b"))],
        invalid=["ftp://a.org", "a.org", None, []],
    ),
    takes(Pattern[str], text("regex"), valid=[("^a+$", re.compile("^a+$"))], invalid=["(", 5, None]),
    takes(re.Pattern, text("regex"), valid=[("^a+$", re.compile("^a+$"))], invalid=["(", 5]),
    takes(
        Fraction,
        {"anyOf": [{"type": "number"}, {"type": "string", "format": "fraction"}]},
        valid=[("1/3", Fraction(1, 3))],
        objects=[Fraction(1, 2)],
        invalid=["x", None, []],
    ),
    takes(
        ZoneInfo,
        text("zoneinfo"),
        valid=[("Europe/Rome", ZoneInfo("Europe/Rome"))],
        invalid=["Europe/Nowhere", 5, None],
    ),
    takes(
        SecretStr,
        {"type": "string", "format": "password", "writeOnly": True},
        valid=[("s", SecretStr("s"))],
        invalid=[5, None],
    ),
    takes(
        Json[list[int]],
        {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"type": "array", "items": {"type": "integer"}},
        },
        valid=[("[1, 2]", [1, 2])],
        invalid=["[1", '["x"]'],
    ),
    takes(
        Annotated[date, Field(ge=date(2024, 1, 1))],
        text("date"),
        valid=[("2024-05-06", date(2024, 5, 6))],
        invalid=["2023-05-06", "x"],
    ),
    takes(
        Annotated[Decimal, Field(gt=0, decimal_places=2)],
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0.0}, {"type": "string", "format": "decimal"}]},
        valid=[("1.10", Decimal("1.10"))],
        invalid=["0", "1.234", "-1"],
    ),
    takes(
        ByteSize,
        {"anyOf": [{"type": "string", "pattern": ...}, {"type": "integer", "minimum": 0}]},
        valid=[(1024, ByteSize(1024)), ("1KiB", ByteSize(1024))],
        invalid=["big", None],
    ),
]
