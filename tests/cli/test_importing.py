"""Starting quickly leaves nothing behind that pods or the collector would notice."""

import gc
import os
import ssl
import subprocess
import sys

from trainplane.cli.importing import importing

ASK = """
from trainplane.cli.importing import importing
with importing():
    import trainplane.cluster.http.connections
    import trainplane.embed
import ssl, sys
print("aiohttp" in sys.modules, ssl.create_default_context().cert_store_stats() == STATS)
"""


def test_what_was_set_is_set_again() -> None:
    before, looks = dict(os.environ), gc.get_threshold()
    with importing():
        assert os.environ["SSL_CERT_FILE"] == os.devnull
    assert dict(os.environ) == before
    assert gc.get_threshold() == looks


def test_authorities_are_known_to_whoever_asks_afterwards() -> None:
    program = ASK.replace("STATS", repr(ssl.create_default_context().cert_store_stats()))
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "True"]
