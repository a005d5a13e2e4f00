"""Bearer tokens of people and programs: made once and shown once, kept only as hashes, and revoked by name."""

import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from trainplane.cluster.access import User
from trainplane.cluster.private_files import private_folder, read_private, write_private

_PREFIX = "tp"
_FILE = "tokens.json"
_LOCK = "tokens.lock"
_NOTHING = hashlib.sha256(b"").hexdigest()


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a token: whose it is and the hash of its secret, never the secret."""

    id: str
    user: str
    sha256: str
    created: datetime
    groups: tuple[str, ...] = ()
    expires: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires is None or now < self.expires


class TokensError(ValueError):
    """The file of tokens cannot be read; the message says which and what to do."""


def new_token(
    user: str, *, groups: Sequence[str] = (), now: datetime, life: timedelta | None = None
) -> tuple[str, Token]:
    """A new token: the text to hand over, and what to keep."""
    name, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    text = f"{_PREFIX}_{name}_{secret}"
    kept = Token(name, user, _hash(text), now, tuple(groups), now + life if life is not None else None)
    return text, kept


def user_of(text: str, tokens: dict[str, Token], *, now: datetime) -> User | None:
    """Whose token a text is, or None where it is none, or expired; the time it takes tells nothing of the secret."""
    parts = text.split("_", 2)
    token = tokens.get(parts[1]) if len(parts) == 3 else None
    same = hmac.compare_digest(token.sha256 if token else _NOTHING, _hash(text))
    return User(token.user, token.groups) if token and same and token.valid(now) else None


class Tokens:
    """The tokens of one cluster, in a file that other processes may change while this one reads it."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made and closed to others where need be."""
        self._folder = private_folder(folder)
        self._seen: tuple[int, int, int] | None = None
        self._tokens: dict[str, Token] = {}

    def authenticate(self, text: str, *, now: datetime) -> User | None:
        """Whose token this is, or None."""
        return user_of(text, self._current(), now=now)

    def list(self) -> list[Token]:
        """All tokens, the newest last."""
        return sorted(self._current().values(), key=lambda token: token.created)

    def create(
        self, user: str, *, groups: Sequence[str] = (), now: datetime, life: timedelta | None = None
    ) -> tuple[str, Token]:
        """A new token, on disk when this returns; the text cannot be had again."""
        text, token = new_token(user, groups=groups, now=now, life=life)
        with self._locked() as tokens:
            tokens[token.id] = token
        return text, token

    def revoke(self, which: str) -> tuple[Token, ...]:
        """Remove the token with this id, or all tokens of this user; what was removed."""
        with self._locked() as tokens:
            gone = tuple(token for token in tokens.values() if which in (token.id, token.user))
            for token in gone:
                del tokens[token.id]
        return gone

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Token]]:
        """The tokens, to be changed by one process at a time and written at the end."""
        lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = self._read()
            yield tokens
            write_private(self._folder / _FILE, msgspec.json.encode(list(tokens.values())))
            self._seen = None
        finally:
            os.close(lock)

    def _current(self) -> dict[str, Token]:
        try:
            about = (self._folder / _FILE).stat()
        except FileNotFoundError:
            return {}
        seen = (about.st_mtime_ns, about.st_size, about.st_ino)
        if seen != self._seen:
            self._tokens, self._seen = self._read(), seen
        return self._tokens

    def _read(self) -> dict[str, Token]:
        content = read_private(self._folder / _FILE)
        if content is None:
            return {}
        try:
            tokens = msgspec.json.decode(content, type=list[Token])
        except msgspec.DecodeError as fault:
            what = f"{self._folder / _FILE} is not a list of tokens ({fault})"
            raise TokensError(f"{what}; remove it, and make new tokens with trainplane token create") from None
        return {token.id: token for token in tokens}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
