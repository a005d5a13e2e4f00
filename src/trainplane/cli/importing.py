"""Importing what a cluster is made of, in half the time: somebody waits for it at every start."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from trainplane.cluster.collector import rarely

_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def importing() -> Iterator[None]:
    """Import without looking for garbage, of which there is none yet, and without the authorities of the web.

    aiohttp reads all of those when it is imported, for contexts that no connection of a cluster uses.
    """
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ |= dict.fromkeys(_AUTHORITIES, os.devnull)
    try:
        with rarely():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
