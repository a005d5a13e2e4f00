"""Handlers: what probes and hooks do: run a command in a container, ask by HTTP or gRPC, open a connection, or wait."""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Sequence
from signal import SIGKILL

from trainplane.api.meta import Raw
from trainplane.node import grpc_health
from trainplane.node.pipes import Drain, open_ends
from trainplane.node.probes import Found, port_of
from trainplane.node.runner import Box, Exit, NotStarted, Runner, Started

MOST_OUTPUT = 10 * 1024
"""Of what a probe's command says, as much is kept."""
HOOK_TIMEOUT = 3600.0
AGENT = "kube-probe/1.36"
"""What servers know probes by."""


async def capture(runner: Runner, started: Started, argv: Sequence[str], *, timeout: float) -> tuple[Exit | None, str]:
    """Run a command in a container; returns how it ended, None where it did not in time, and what it said."""
    said = bytearray()
    ends = open_ends(stdin=False, terminal=False, joined=True)
    try:
        joined = await runner.exec(started, argv, ends.stdio)
    except BaseException:
        ends.give_up()
        raise
    ends.started()
    drain = Drain(ends.out, lambda data: said.extend(data[: MOST_OUTPUT - len(said)]))
    exit_: Exit | None = None
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                exit_ = await runner.wait(joined)
    finally:
        if exit_ is None:
            # Whoever waits for us may lose patience first; what was waited for must not stay.
            await runner.kill(joined, SIGKILL)
        drain.finish()
    return exit_, bytes(said).decode(errors="replace")


async def handle(
    runner: Runner, box: Box, handler: Raw, *, container: Raw, started: Started, address: str, timeout: float
) -> Found:
    """Do what a probe or a hook says, once."""
    try:
        async with asyncio.timeout(timeout):
            if action := handler.get("exec"):
                return await _exec(runner, started, action.get("command") or (), timeout=timeout)
            if action := handler.get("httpGet"):
                return await _http(runner, box, action, container=container, address=address)
            if action := handler.get("tcpSocket"):
                return await _tcp(runner, box, action, container=container, address=address)
            if action := handler.get("grpc"):
                return await _grpc(runner, box, action, address=address)
            if action := handler.get("sleep"):
                await asyncio.sleep(action.get("seconds") or 0)
                return Found(good=True)
    except TimeoutError:
        return Found(good=False, message=f"timed out after {timeout:g}s")
    return Found(good=False, message="nothing is said that could be done; use exec, httpGet or tcpSocket", error=True)


async def _exec(runner: Runner, started: Started, argv: Sequence[str], *, timeout: float) -> Found:
    try:
        exit_, said = await capture(runner, started, argv, timeout=timeout)
    except NotStarted as error:
        return Found(good=False, message=error.message)
    if exit_ is None:
        return Found(good=False, message=f'command timed out: "{" ".join(argv)}" timed out after {timeout:g}s')
    return Found(good=exit_.code == 0 and exit_.signal == 0, message=said)


async def _tcp(runner: Runner, box: Box, action: Raw, *, container: Raw, address: str) -> Found:
    port = port_of(container, action["port"])
    if port is None:
        return Found(good=False, message=f"the container has no port {action['port']}", error=True)
    try:
        (await runner.dial(box, port)).close()
    except OSError as error:
        return Found(good=False, message=_refused(address, port, error))
    return Found(good=True)


async def _grpc(runner: Runner, box: Box, action: Raw, *, address: str) -> Found:
    port, service = int(action["port"]), action.get("service") or ""
    try:
        sock = await runner.dial(box, port)
    except OSError as error:
        return Found(good=False, message=_refused(address, port, error))
    reader, writer = await asyncio.open_connection(sock=sock)
    try:
        return await grpc_health.check(reader, writer, service=service, authority=f"{address}:{port}", agent=AGENT)
    except (OSError, ValueError) as error:
        return Found(good=False, message=f"{address}:{port}: {error}")
    finally:
        writer.close()


async def _http(runner: Runner, box: Box, action: Raw, *, container: Raw, address: str) -> Found:
    port = port_of(container, action["port"])
    if port is None:
        return Found(good=False, message=f"the container has no port {action['port']}", error=True)
    scheme, path = (action.get("scheme") or "HTTP").lower(), "/" + (action.get("path") or "/").lstrip("/")
    host = action.get("host") or address
    try:
        sock = await runner.dial(box, port)
    except OSError as error:
        message = f'Get "{scheme}://{host}:{port}{path}": {_refused(host, port, error)}'
        return Found(good=False, message=message)
    context = None
    if scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        reader, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname="" if context else None)
    except OSError as error:
        return Found(good=False, message=f'Get "{scheme}://{host}:{port}{path}": {error}')
    try:
        headers = {"Host": f"{host}:{port}", "User-Agent": AGENT, "Accept": "*/*", "Connection": "close"}
        headers |= {each["name"]: each["value"] for each in action.get("httpHeaders") or ()}
        request = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write((request + "\r\n").encode())
        line = await reader.readline()
    except (OSError, ValueError) as error:
        return Found(good=False, message=f'Get "{scheme}://{host}:{port}{path}": {error}')
    finally:
        writer.close()
    words = line.split()
    if len(words) < 2 or not words[1].isdigit():
        return Found(good=False, message=f'Get "{scheme}://{host}:{port}{path}": EOF')
    code = int(words[1])
    return Found(
        good=200 <= code < 400, message="" if 200 <= code < 400 else f"HTTP probe failed with statuscode: {code}"
    )


def _refused(host: str, port: int, error: OSError) -> str:
    return f"dial tcp {host}:{port}: connect: {why(error)}"


def why(error: OSError) -> str:
    """What the system says of an error; asyncio puts its own words over those."""
    return (os.strerror(error.errno) if error.errno else str(error)).lower()
