"""What the API server refuses in requests, limits and claims, of containers and of whole pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.quantity import QuantityError, parse
from trainplane.cluster.causes import (
    Cause,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.names import label_faults, subdomain_faults
from trainplane.cluster.resource_names import (
    HUGE_PAGES,
    OF_CONTAINERS,
    is_extended,
    is_native,
    is_whole,
    resource_name_faults,
)

NEGATIVE = "must be greater than or equal to 0"
_LIMIT = "Limit must be set for non overcommitable resources"
_OF_PODS = ("cpu", "memory")
_ONE_SOURCE = "`resourceClaimName`, `resourceClaimTemplateName`"
Part = Mapping[str, Any]


def resource_causes(resources: Part, at: str, *, claims: Iterable[str] = (), pod: bool = False) -> Iterator[Cause]:
    """What is wrong with what a container, or a whole pod, asks for; `claims` are the names of the pod's."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    name_causes = _pod_name_causes if pod else container_name_causes
    if resources.get("claims"):
        yield from _wanted_claims(resources["claims"], f"{at}.claims", sorted(claims))
    for name, amount in limits.items():
        where = f"{at}.limits[{name}]"
        yield from name_causes(name, where)
        yield from amount_causes(name, amount, where)
    for name, amount in requests.items():
        where = f"{at}.requests[{name}]"
        yield from name_causes(name, where)
        yield from amount_causes(name, amount, where)
        yield from _beside_limit(name, amount, limits.get(name), at)
    given = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in given) and not given & {"cpu", "memory"}:
        yield forbidden(at, "HugePages require cpu or memory")


def _beside_limit(name: str, amount: Any, limit: Any, at: str) -> Iterator[Cause]:
    """What is wrong with a request beside its limit: what cannot be lent is requested as a whole."""
    lent = is_native(name) and not name.startswith(HUGE_PAGES)
    if limit is None:
        if not lent:
            yield required(f"{at}.limits", _LIMIT)
    elif not lent and _amount(amount) != _amount(limit):
        yield invalid(f"{at}.requests", str(amount), f"must be equal to {name} limit of {limit}")
    elif lent and _amount(amount) > _amount(limit):
        yield invalid(f"{at}.requests", str(amount), f"must be less than or equal to {name} limit of {limit}")


def container_name_causes(name: str, at: str) -> Iterator[Cause]:
    """What keeps a text from being the name of a resource that containers have."""
    if name in OF_CONTAINERS:
        return
    for fault in resource_name_faults(name):
        yield invalid(at, name, fault)
    if "/" not in name and not name.startswith(HUGE_PAGES):
        yield invalid(at, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(at, name, "doesn't follow extended resource name standard")


def _pod_name_causes(name: str, at: str) -> Iterator[Cause]:
    faults = list(resource_name_faults(name))
    for fault in faults:
        yield invalid(at, name, fault)
    if not faults and name not in _OF_PODS and not name.startswith(HUGE_PAGES):
        yield not_supported(at, name, ("cpu", HUGE_PAGES, "memory"))


def amount_causes(name: str, amount: Any, at: str) -> Iterator[Cause]:
    """What is wrong with an amount of a resource."""
    value = _amount(amount)
    if value.nano < 0:
        yield invalid(at, str(amount), NEGATIVE)
    if is_whole(name) and value.nano % 10**9:
        yield invalid(at, str(value), "must be an integer")
    if name.startswith(HUGE_PAGES) and not _is_multiple(value, name):
        yield invalid(at, str(amount), f"{amount} is not positive integer multiple of {name}")


def _is_multiple(value: Any, name: str) -> bool:
    try:
        size = parse(name.removeprefix(HUGE_PAGES)).nano // 10**9
    except QuantityError:
        return False
    return size > 0 and value.value() % size == 0


def claim_causes(claims: Iterable[Part], at: str) -> Iterator[Cause]:
    """What is wrong with the claims of a pod, which stand at a path."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{at}[{index}]", claim.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        elif name in seen:
            yield duplicate(f"{where}.name", name)
        else:
            for fault in label_faults(name):
                yield invalid(f"{where}.name", name, fault)
            seen.add(name)
        sources = [kind for kind in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(kind) is not None]
        if len(sources) > 1:
            words = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid(where, as_go(claim, "PodResourceClaim"), words)
        elif not sources:
            yield invalid(where, as_go(claim, "PodResourceClaim"), f"must specify one of: {_ONE_SOURCE}")
        for kind in sources:
            for fault in subdomain_faults(claim[kind]):
                yield invalid(f"{where}.{kind}", claim[kind], fault)


def _wanted_claims(wanted: Iterable[Part], at: str, known: list[str]) -> Iterator[Cause]:
    """What is wrong with the claims that a container names, of those that its pod has."""
    seen: list[str] = []
    for index, claim in enumerate(wanted):
        where, name, part = f"{at}[{index}]", claim.get("name") or "", claim.get("request") or ""
        for fault in label_faults(part) if part else ():
            yield invalid(f"{where}.request", part, fault)
        if not name:
            yield required(where)
            continue
        shown = f"{name}/{part}" if part else name
        # Who has the whole of a claim has each part of it already.
        if part and name in seen:
            yield duplicate(where, name)
        elif shown in seen or (not part and any(each.startswith(f"{name}/") for each in seen)):
            yield duplicate(where, shown)
        else:
            seen.append(shown)
        if name not in known:
            words = f": {', '.join(known)}" if known else " which is empty"
            cause = not_found(where, name)
            yield Cause(
                cause.reason, where, f"{cause.message}: must be one of the names in pod.spec.resourceClaims{words}"
            )


def _amount(text: Any) -> Any:
    try:
        return parse(text)
    except QuantityError:
        return parse(0)
