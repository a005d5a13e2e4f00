"""A request as the audit log has it."""

from aiohttp import web

from trainplane.api.meta import Raw
from trainplane.cluster.access import User
from trainplane.cluster.http.answers import NAME, NOTES
from trainplane.cluster.wire import Plain, Request

_ASKED = web.RequestKey("asked", tuple[User, Request | Plain])


def note(request: web.BaseRequest, user: User, asked: Request | Plain) -> None:
    """Keep who asks for what with the request, until it has been answered."""
    request[_ASKED] = (user, asked)


def audit_line(request: web.BaseRequest, answer: web.StreamResponse | None, *, took: float) -> Raw:
    """A request as the audit log has it: nothing of its body or of its query, where secrets may be."""
    known = request.get(_ASKED)
    asked = known[1] if known else None
    line: Raw = {
        "user": known[0].name if known else "",
        "as": request.headers.get("Impersonate-User", ""),
        "verb": request.method.lower(),
        "path": request.path,
    }
    if isinstance(asked, Request):
        resource = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
        line |= {"verb": asked.verb, "path": "", "resource": resource, "subresource": asked.subresource}
        line |= {"namespace": asked.namespace, "name": asked.name}
    if answer is not None:
        line |= {"name": line.get("name") or answer.get(NAME, ""), "notes": answer.get(NOTES, [])}
    return line | {
        "code": answer.status if answer is not None else "",
        "ms": round(took * 1000, 1),
        "source": request.remote or "",
        "userAgent": request.headers.get("User-Agent", ""),
    }
