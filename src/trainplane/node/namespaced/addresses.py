"""The addresses of pods, one after the other so that one that was given back rests before it is given again."""

import ipaddress
import socket

NETWORK = ipaddress.IPv4Network("10.244.0.0/16")
GATEWAY = str(NETWORK[1])


class Addresses:
    """Which addresses are taken."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._last = 1

    def take(self) -> str:
        """An address that no pod has; raises OSError where there is none."""
        for step in range(1, NETWORK.num_addresses):
            number = (self._last + step) % NETWORK.num_addresses
            # The first is the network's own, the second the gateway's, the last everybody's.
            if 1 < number < NETWORK.num_addresses - 1 and number not in self._taken:
                self._last = number
                self._taken.add(number)
                return str(NETWORK[number])
        raise OSError(28, "every address of the pod network is taken")

    def give_back(self, address: str) -> None:
        """Let an address be given again."""
        self._taken.discard(int(ipaddress.IPv4Address(address)) - int(NETWORK.network_address))


def host_address() -> str:
    """The address by which this machine goes out; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
