"""Which API server a verb talks to, and as whom; what it refuses becomes one sentence."""

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from trainplane.cli.clusters import DEFAULT, Cluster, Refused, of_cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from trainplane.api.kinds import Kind
    from trainplane.api.meta import Raw
    from trainplane.api.ref import Ref
    from trainplane.cluster.errors import ApiError
    from trainplane.cluster.inside import Inside
    from trainplane.cluster.remote import Remote

DEFAULT_NAMESPACE = "default"
OF_CLUSTERS = ("up", "kubectl")
"""Verbs that are about a cluster of ours, whatever namespaces it has."""
EVERYWHERE = ("get jobs", "why --all", "history")
"""What is asked of all namespaces by whoever asked about all of them."""
_COMMAND = re.compile(
    r"(?<![-/.\w])(?:(trainplane) (up|get|events|logs|resume|scale|why)|"
    r"(kubectl) (get|describe|logs|edit|create|delete|label|taint|uncordon))(?![-\w])"
)
"""The commands that sentences about jobs advise."""
_NAMESPACE = re.compile(r'namespaces "([^"]+)" not found')
T = TypeVar("T")


class Server(msgspec.Struct, frozen=True):
    """An API server by its kubeconfig, and the namespaces that a verb is about."""

    kubeconfig: Path | None
    context: str = ""
    namespace: str = ""
    """As asked for; "" is the context's own."""
    everywhere: bool = False
    cluster: Cluster | None = None
    """The cluster of ours that it is, where it is one."""
    is_stopped: bool = False
    """Whether that cluster has to be started first."""

    def ask(self, work: "Callable[[Session], Awaitable[T]]") -> T:
        """Do some work at the server; raises Refused with a sentence where it refuses or does not answer."""

        async def main() -> T:
            async with self._session() as session:
                return await work(session)

        with answering(self):
            return asyncio.run(main())

    @asynccontextmanager
    async def _session(self) -> "AsyncIterator[Session]":
        from trainplane.cluster.remote import Remote

        async with Remote.connect(self.kubeconfig, self.context) as client:
            yield Session(self, client, "" if self.everywhere else self.namespace or client.target.namespace)

    def command(self, verb: str, *, namespace: str | None = None) -> str:
        """The command line of a verb for this server and the namespaces that were asked for, to be pasted."""
        words = ["trainplane", *shlex.split(verb)]
        about = self.namespace if namespace is None else namespace
        if words[1] not in OF_CLUSTERS and about and not (self.cluster and about == DEFAULT_NAMESPACE):
            words += ["-n", about]
        if self.everywhere and verb in EVERYWHERE:
            words.append("-A")
        if self.cluster and self.cluster.name != DEFAULT:
            words += ["--name", self.cluster.name]
        if self.cluster and self.cluster.named_folder:
            words += ["--data", str(self.cluster.folder)]
        return shlex.join([*words, *(self._others() if words[1] not in OF_CLUSTERS else ())])

    def kubectl(self, words: str) -> str:
        """The command line of kubectl for this server, to be pasted; ours where it is a cluster of `up`."""
        start = self.command("kubectl") if self.cluster else shlex.join(["kubectl", *self._others()])
        return f"{start} {words}"

    def _others(self) -> list[str]:
        """The options that name a server that is none of ours."""
        file = ["--kubeconfig", str(self.kubeconfig)] if self.kubeconfig and not self.cluster else []
        return file + (["--context", self.context] if self.context else [])

    def retyped(self, text: str) -> str:
        """A sentence with the commands in it as they must be typed for this server.

        Sentences about a job are made where nobody knows by which name or file a person reaches the cluster.
        """

        def typed(found: re.Match[str]) -> str:
            return self.command(found[2], namespace="") if found[1] else self.kubectl(found[4])

        return _COMMAND.sub(typed, text)


class Session(msgspec.Struct, frozen=True):
    """A connection to a server, and the namespace that a verb is about; "" is all of them."""

    server: Server
    client: "Remote | Inside"
    namespace: str

    @property
    def home(self) -> str:
        """The namespace of names that are given without one."""
        return self.namespace or self.client.target.namespace

    def command(self, verb: str) -> str:
        """The command line of a verb for the same server and namespace, to be pasted."""
        return self.server.command(verb, namespace=self.home if self.in_namespace else "")

    @property
    def in_namespace(self) -> str:
        """What says which namespace in a command of kubectl: `-n team `; "" where it is the context's own."""
        return f"-n {self.home} " if self.home != self.client.target.namespace else ""

    def send(self) -> str:
        """The command line that makes a job in the namespace, to be pasted."""
        return self.server.kubectl(f"apply {self.in_namespace}-f job.yaml")

    async def all(self, kind: "Kind", *, everywhere: bool = False) -> "list[Raw]":
        """The objects of a kind in the namespace, or in all; raises what the API raises."""
        namespace = "" if everywhere or not kind.namespaced else self.namespace
        return list((await self.client.list(kind, namespace=namespace)).items)

    async def gather(self, kinds: "Sequence[Kind]", *, everywhere: bool = False) -> "tuple[list[Raw], list[Kind]]":
        """The objects of several kinds, and the kinds that the caller may not list; kinds that are not there are none.

        Where all namespaces are wanted and are not the caller's to see, the one at hand has to do.
        """
        from trainplane.cluster.errors import Forbidden, NotFound

        refused: list[Kind] = []

        async def one(kind: "Kind") -> "list[Raw]":
            try:
                return await self.all(kind, everywhere=everywhere)
            except NotFound:
                return []
            except Forbidden:
                refused.append(kind)
            if everywhere and kind.namespaced and self.namespace:
                try:
                    return await self.all(kind)
                except Forbidden:
                    pass
            return []

        found = await asyncio.gather(*map(one, kinds))
        return [raw for some in found for raw in some], sorted(refused, key=lambda kind: kind.plural)

    async def must_have_namespace(self) -> None:
        """Nothing, if the namespace is there or that is not for the caller to know; raises Refused with the nearest."""
        from trainplane.api.ref import Ref
        from trainplane.cluster.errors import ApiError, NotFound

        if self.namespace:
            try:
                await self.client.get(Ref("", "Namespace", "", self.namespace))
            except NotFound:
                raise Refused(await self._no_namespace()) from None
            except ApiError:
                return

    async def _no_namespace(self) -> str:
        from trainplane.api.problem import did_you_mean
        from trainplane.cli.sorts import kind_row
        from trainplane.cluster.errors import ApiError

        try:
            there = [raw["metadata"]["name"] for raw in await self.all(kind_row("", "Namespace"))]
        except ApiError:
            there = []
        near = did_you_mean(self.namespace, there)
        create = self.server.kubectl(f"create namespace {self.namespace}")
        todo = f"did you mean {near}?" if near else f"create it with: {create}"
        return f"there is no namespace {self.namespace}; {todo}"

    async def get(self, kind: "Kind", name: str) -> "Raw":
        """The object of a name; raises Refused with the nearest name where there is none."""
        from trainplane.api.ref import Ref
        from trainplane.cluster.errors import ApiError, NotFound

        ref = Ref(kind.group, kind.kind, self.home if kind.namespaced else "", name)
        try:
            return await self.client.get(ref)
        except NotFound:
            pass
        try:
            there = [raw["metadata"]["name"] for raw in (await self.client.list(kind, namespace=ref.namespace)).items]
        except ApiError:
            there = []
        raise Refused(missing(ref, there, see=self.command(f"get {WORDS.get(kind.kind, kind.plural)}")))


WORDS = {"TrainJob": "jobs", "TrainingRuntime": "runtimes", "ClusterTrainingRuntime": "runtimes"}
"""What the command line calls kinds that have a longer name in the API."""
NOUNS = {"TrainJob": "job", "TrainingRuntime": "runtime", "ClusterTrainingRuntime": "runtime"}


def missing(ref: "Ref", there: "Sequence[str]", *, see: str) -> str:
    """That there is no such object, and which name may have been meant."""
    from trainplane.api.problem import did_you_mean

    near = did_you_mean(ref.name, there)
    where = f" in namespace {ref.namespace}" if ref.namespace else ""
    todo = f"did you mean {near}?" if near else f"see what there is: {see}"
    return f"there is no {NOUNS.get(ref.kind, ref.kind.lower())} {ref.name}{where}; {todo}"


def refusal(error: "ApiError", server: Server | None = None) -> str:
    """What the API said, in one line, and what to do about it where that is known."""
    from trainplane.cluster.errors import Forbidden, NotFound, Unauthorized

    said = " ".join(error.message.split()) or type(error).__name__
    match error:
        case Forbidden():
            return f"{said}; ask whoever runs the cluster for that right, or use another context"
        case Unauthorized():
            return f"the server does not know who asks ({said}); use another kubeconfig, or a token that still holds"
        case NotFound() if found := _NAMESPACE.match(said):
            create = f"kubectl create namespace {found[1]}"
            return f"there is no namespace {found[1]}; create it with: {server.retyped(create) if server else create}"
        case _:
            return said


@contextmanager
def answering(server: Server | None = None) -> "Iterator[None]":
    """Have what a server refuses, or that it does not answer, said in a sentence; all else goes on as it came."""
    from trainplane.cluster.errors import ApiError
    from trainplane.cluster.kubeconfig import KubeconfigError

    try:
        yield
    except Exception as error:  # noqa: BLE001 - all but the three below goes on as it came
        cause = _first(error)
        if isinstance(cause, KubeconfigError | ConnectionError) and not isinstance(cause, BrokenPipeError):
            raise Refused(str(cause)) from None
        if isinstance(cause, ApiError):
            raise Refused(refusal(cause, server)) from None
        raise cause from None


def _first(error: Exception) -> Exception:
    """The error, or the first of a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def of_server(
    *, everywhere: bool = True, may_start: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the options that say which server and namespace, and the Server as its first argument.

    `everywhere` adds -A, for verbs that can be about all namespaces; a verb that `may_start` a cluster of ours is not
    refused where that is stopped.
    """

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def called(
            cluster: Cluster,
            *,
            kubeconfig: Path | None,
            context: str,
            namespace: str,
            all_namespaces: bool = False,
            **rest: Any,
        ) -> Any:
            if namespace and all_namespaces:
                raise click.UsageError("-n names one namespace and -A all of them; give one of the two")
            server = _server(cluster, kubeconfig=kubeconfig, context=context, may_start=may_start)
            return verb(replace(server, context=context, namespace=namespace, everywhere=all_namespaces), **rest)

        file = click.Path(path_type=Path, dir_okay=False)
        options = [
            click.option(
                "-n", "--namespace", default="", metavar="NAME", help="The namespace; the context's by default."
            ),
            click.option("--kubeconfig", type=file, help="The kubeconfig of another cluster."),
            click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig, or of your own."),
        ]
        if everywhere:
            options.insert(1, click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."))
        wrapped = of_cluster(called)
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def _server(cluster: Cluster, *, kubeconfig: Path | None, context: str, may_start: bool) -> Server:
    """The server that is asked for: a kubeconfig or context that is named, else our own cluster, else kubectl's."""
    import os

    from trainplane.cli.keeper import holder, record
    from trainplane.cluster.kubeconfig import files

    asked = cluster.named_folder or cluster.name != DEFAULT
    if kubeconfig or context:
        if asked:
            raise click.UsageError(
                "--name and --data are for clusters of `up`, which need no --kubeconfig or --context"
            )
        return Server(kubeconfig, context)
    ours = Server(cluster.kubeconfig, cluster=cluster)
    if cluster.exists():
        if keeper := holder(cluster):
            said = record(cluster)
            if may_start and said and said.pid == keeper.pid and said.for_one_job:
                own = "give this job a cluster of its own with --name NAME"
                todo = f"start one for all with {cluster.command('up')} when that has ended, or {own}"
                raise Refused(f"cluster {cluster.name} runs for one job only: {keeper}; {todo}")
            return ours
        if not may_start:
            other = "name another with --kubeconfig or --context"
            raise Refused(f"cluster {cluster.name} is stopped; start it with: {cluster.command('up')}, or {other}")
        return replace(ours, is_stopped=True)
    if asked or not any(path.exists() for path in files(os.environ, home=Path.home())):
        if may_start:
            return replace(ours, is_stopped=True)
        cluster.must_exist()
    return Server(None)
