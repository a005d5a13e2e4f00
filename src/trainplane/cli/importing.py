"""Importing what a cluster is made of, in half the time: somebody waits for it at every start."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def importing() -> Iterator[None]:
    """Import without looking for garbage, of which there is none, and without the authorities of the web.

    What was imported stays, and is not looked through later either. aiohttp reads all of those authorities when it is
    imported, for contexts that no connection of a cluster uses.
    """
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ |= dict.fromkeys(_AUTHORITIES, os.devnull)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
