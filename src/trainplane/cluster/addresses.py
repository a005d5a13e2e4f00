"""IP addresses and ranges of them in text: what keeps a text from being one, as the API server reads it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

RANGE_WORDS = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ADDRESS_WORDS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_ZEROS = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
"""Zeros before a number of an IPv4 address."""
_LINK_MULTICAST = (ip_network("224.0.0.0/24"), ip_network("ff02::/16"))
_SPECIAL = (
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
)
Address = IPv4Address | IPv6Address
_LONGEST = 64
"""Longer than any address that is spelt as it should be."""


def read_address(text: str) -> Address | None:
    """The address that a text means, though it may be spelt loosely; None where it means none."""
    return _known_address(text) if len(text) <= _LONGEST else _address(text)


@lru_cache(maxsize=2048)
def _known_address(text: str) -> Address | None:
    # A pod's address is told again and again: in each status of the pod, and among those of its Service.
    return _address(text)


def _address(text: str) -> Address | None:
    if "%" in text or not text.isascii():
        return None
    try:
        return ip_address(_ZEROS.sub("", text))
    except ValueError:
        return None


def address_faults(text: str) -> Iterator[str]:
    """What keeps a text from being an IP address, spelt as it should be."""
    address = read_address(text)
    if address is None:
        yield ADDRESS_WORDS
    elif _ZEROS.search(text):
        yield "must not have leading 0s"
    elif isinstance(address, IPv6Address) and address.ipv4_mapped:
        yield "must not be an IPv4-mapped IPv6 address"


def place_faults(text: str) -> Iterator[str]:
    """What keeps an address from being that of something elsewhere."""
    address = read_address(text)
    if address is None:
        return
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_unspecified:
        yield f"may not be unspecified ({text})"
    for name, words in _SPECIAL:
        if getattr(address, name):
            yield words
    if any(address.version == each.version and address in each for each in _LINK_MULTICAST):
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


def range_faults(text: str) -> Iterator[str]:
    """What keeps a text from being a range of addresses, spelt as it should be."""
    head, slash, length = text.partition("/")
    address = read_address(head)
    if address is None or not slash or not length.isdecimal() or int(length) > address.max_prefixlen:
        yield RANGE_WORDS
    elif _ZEROS.search(head) or (length != "0" and length.startswith("0")):
        yield "must not have leading 0s in IP or prefix length"
    elif isinstance(address, IPv6Address) and address.ipv4_mapped:
        yield "must not have an IPv4-mapped IPv6 address"
    elif ip_network(f"{address}/{length}", strict=False).network_address != address:
        yield "must not have bits set beyond the prefix length"
