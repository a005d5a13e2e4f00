"""The certificates and keys of a new cluster, made by another process while this one loads what serves.

What makes them is a tenth of all that a start would load and keep, and is seldom needed again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from trainplane.cli.clusters import Cluster
from trainplane.cluster.credentials import CHECKED_FILE


@contextmanager
def certifying(cluster: Cluster, *, in_pods: bool) -> Iterator[None]:
    """Have the certificates there at the end, where the cluster is new; `in_pods`: whether pods will see them.

    Where that fails the cluster makes them itself, and says what is wrong.
    """
    if (cluster.pki / CHECKED_FILE).exists():
        yield
        return
    child = os.fork()
    if not child:
        _certify(cluster, in_pods=in_pods)
    try:
        yield
    finally:
        os.waitpid(child, 0)


def _certify(cluster: Cluster, *, in_pods: bool) -> NoReturn:
    """The other process."""
    try:
        # Whoever waits for the cluster waits for the first process, and on few processors both want the same one.
        os.nice(5)
        from trainplane.cluster.credentials import credentials
        from trainplane.control import clock
        from trainplane.node.namespaced.addresses import GATEWAY

        names = (GATEWAY,) if in_pods else ()
        credentials(cluster.pki, name=cluster.name, now=clock.now(), extra_names=names)
        if in_pods:
            from trainplane.cluster.identity import signing_key

            # Of the tokens of pods; the first of them would wait for it.
            signing_key(cluster.pki)
    finally:
        # Without whatever the first process still has to do, nor a word: that one will find out.
        os._exit(0)
