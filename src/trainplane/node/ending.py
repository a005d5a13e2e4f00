"""Ending: what a container leaves to be told when it has ended: its last words, and how it failed."""

from trainplane.api.failure import TAIL, Verdict, judge
from trainplane.api.meta import Raw
from trainplane.node import launch, report
from trainplane.node.home import Home, log_name
from trainplane.node.living import Living
from trainplane.node.runner import Exit
from trainplane.node.seen import FALLBACK_LINES, Life, termination_message
from trainplane.reconcile.view import View

_LONGEST = 8192


def last_words(pod: Raw, living: Living, life: Life, *, home: Home, view: View) -> str:
    """The termination message of a container: what it wrote for that, or the end of its log."""
    name = living.container["name"]
    try:
        with launch.message_file(pod, home, name).open("rb") as file:
            written = file.read(_LONGEST).decode(errors="replace")
    except OSError:
        written = ""
    log = home.logs.tail(log_name(pod), name, living.number, lines=FALLBACK_LINES) if life.code else ""
    # Whoever may read the pod reads this, and need not be allowed to read Secrets or logs.
    return termination_message(living.container, life, written=written, log=report.hidden(log, view))


def judged(pod: Raw, living: Living, exit_: Exit, *, code: int, home: Home, view: View) -> Verdict:
    """How a container failed, by the end of its log; a report of it is kept beside that."""
    name = living.container["name"]
    said = home.logs.tail(log_name(pod), name, living.number, lines=TAIL).splitlines()
    if living.writer.failure:
        # A disk that was full for the log was full for the program too, whose words about it are lost.
        said.append(living.writer.failure)
    verdict = judge(code, said, oom=exit_.oom)
    log = home.logs.path(log_name(pod), name, living.number)
    report.keep(log, verdict, report.hidden("\n".join(said), view).splitlines())
    return verdict
