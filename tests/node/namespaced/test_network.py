"""The pod network: names, addresses, ports, and the ways in and out."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import links_of_pods, once, town, until
from tests.patience import PATIENCE
from trainplane.node.namespaced.egress import MOST_OPEN
from trainplane.node.runner import NotStarted, Resolver

SERVE = """
import socket
with socket.create_server(("", 29500)) as server:
    print("up")
    near, peer = server.accept()
    print(peer[0], near.recv(100).decode())
    near.sendall(b"hello from " + socket.gethostname().encode())
    near.close()
"""
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], 29500), timeout=60) as far:
    far.sendall(b"hello")
    print(far.recv(100).decode())
"""


@pytest.mark.parametrize("name", ["a.job", "a.job.ml", "a.job.ml.svc", "a.job.ml.svc.cluster.local", "A.Job"])
def test_pods_reach_each_other_by_name_and_port(tmp_path: Path, name: str) -> None:
    async def story() -> tuple[str, str, str]:
        async with town(tmp_path) as here:
            server = await here.python("a", SERVE)
            await server.says("up")
            client = await here.python("b", ASK.replace("sys.argv[1]", repr(name)))
            await client.end()
            await server.end()
            return server.text, client.text, client.addresses[0]

    served, asked, address = asyncio.run(story())
    assert asked == "hello from a\n"
    assert served == f"up\n{address} hello\n"


def test_two_pods_may_use_the_same_port(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            pods = [await here.python(name, SERVE) for name in ("a", "b")]
            for pod in pods:
                await pod.says("up")
            for pod in pods:
                async with asyncio.timeout(PATIENCE):
                    reader, writer = await asyncio.open_connection(sock=await here.runner.dial(pod.box, 29500))
                    writer.write(b"hi")
                    assert await reader.read(100) == f"hello from {pod.box.hostname}".encode()
                    writer.close()

    asyncio.run(story())


def test_names_come_and_go(tmp_path: Path) -> None:
    look = """
import socket, time
def look():
    try:
        return socket.gethostbyname("later.job")
    except socket.gaierror as error:
        return error.errno == socket.EAI_NONAME and "nobody"
print(look())
while look() == "nobody":
    time.sleep(0.05)
print(look())
while look() != "nobody":
    time.sleep(0.05)
print("gone")
"""

    async def story() -> tuple[str, tuple[str, ...]]:
        async with town(tmp_path) as here:
            pod = await here.python("first", look)
            await pod.says("nobody")
            later = await here.pod("later", "sleep", "600")
            await pod.says(later.addresses[0])
            await here.runner.remove(later.box)
            await here.runner.resolve({})
            await pod.end()
            return pod.text, later.addresses

    text, addresses = asyncio.run(story())
    assert text.split() == ["nobody", addresses[0], "gone"]


def test_a_pod_knows_itself_and_who_calls(tmp_path: Path) -> None:
    look = """
import socket
print(socket.gethostname(), socket.getfqdn(), socket.gethostbyname(socket.gethostname()))
print(sorted(name for _, name in socket.if_nameindex()))
own = socket.gethostbyname(socket.gethostname())
print(socket.gethostbyaddr(socket.gethostbyname("other.job"))[0])
print(socket.getnameinfo(("::ffff:" + own, 1), 0)[0])
print(socket.getnameinfo(("::ffff:" + socket.gethostbyname("other.job"), 1), 0)[0])
print(socket.gethostbyname("alias.example"))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    probe.connect(("8.8.8.8", 53))
    print(probe.getsockname()[0])
with socket.socket(socket.AF_INET6) as both:
    both.bind(("::", 22))
    print("bound")
"""

    async def story() -> tuple[str, str]:
        async with town(tmp_path) as here:
            await here.pod("other", "sleep", "600")
            pod = await here.python("self", look, box={"hosts": (("10.9.8.7", ("alias.example",)),)})
            await pod.end()
            return pod.text, pod.addresses[0]

    text, address = asyncio.run(story())
    assert text.splitlines() == [
        f"self self.job.ml.svc.cluster.local {address}",
        "['eth0', 'lo']",
        "other.job.ml.svc.cluster.local",
        f"mapped-{address.replace('.', '-')}",
        "other.job.ml.svc.cluster.local",
        "10.9.8.7",
        address,
        "bound",
    ]


def test_nothing_leaves_the_machine_and_nothing_is_added_to_its_network(tmp_path: Path) -> None:
    knock = """
import socket
for host in ("192.0.2.7", "10.244.200.1", HOST):
    try:
        socket.create_connection((host, PORT), timeout=5)
    except OSError as error:
        print(type(error).__name__, error.errno)
"""

    async def story() -> str:
        before = links_of_pods()
        with socket.create_server(("", 0)) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                host = probe.getsockname()[0]
            except OSError:
                host = "127.0.0.2"
            port = server.getsockname()[1]
            async with town(tmp_path) as here:
                pod = await here.python("p", knock.replace("HOST", repr(host)).replace("PORT", str(port)))
                await pod.end()
                assert links_of_pods() == before
                return pod.text

    answers = asyncio.run(story()).splitlines()
    assert len(answers) == 3, answers
    assert "0" not in answers


def test_a_pod_reaches_what_listens_at_the_gateway(tmp_path: Path) -> None:
    async def story() -> str:
        async with town(tmp_path) as here:
            door = await here.runner.listen(6443)

            async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(b"the API")
                writer.close()

            async with await asyncio.start_server(serve, sock=door):
                code = f"import socket; print(socket.create_connection(({here.runner.gateway!r}, 6443)).recv(99))"
                pod = await here.python("p", code)
                await pod.end()
            with pytest.raises(OSError, match="in use"):
                await here.runner.listen(53)
            return pod.text

    assert asyncio.run(story()) == "b'the API'\n"


def test_dialling_a_port_where_nobody_listens_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.pod("p", "sleep", "600")
            with pytest.raises(ConnectionRefusedError):
                await here.runner.dial(pod.box, 4444)
            await here.runner.remove(pod.box)
            with pytest.raises(ConnectionRefusedError, match="gone"):
                await here.runner.dial(pod.box, 4444)

    asyncio.run(story())


@pytest.mark.parametrize("knows_cluster", [True, False])
def test_a_pod_may_name_its_own_resolver(tmp_path: Path, knows_cluster: bool) -> None:
    own = Resolver(("192.0.2.53",), searches=("example.com",), options=("ndots:2",), knows_cluster=knows_cluster)
    _, text = asyncio.run(once(tmp_path, "cat", "/etc/resolv.conf", box={"resolver": own}))
    servers = ["10.244.0.1", "192.0.2.53"] if knows_cluster else ["192.0.2.53"]
    lines = ["search example.com", *(f"nameserver {server}" for server in servers), "options ndots:2"]
    assert text.splitlines() == lines


def test_a_pod_may_be_called_by_its_full_name(tmp_path: Path) -> None:
    code = "import socket; print(socket.gethostname(), socket.getfqdn(), open('/etc/hostname').read().strip())"

    async def story() -> tuple[str, str]:
        async with town(tmp_path) as here:
            pod = await here.python("p", code, box={"says_full_name": True})
            await pod.end()
            long = here.box("p" * 60, says_full_name=True)
            with pytest.raises(NotStarted, match="64 at most; use shorter names, or leave setHostnameAsFQDN out"):
                await here.make(long)
            return pod.text, pod.box.domain

    text, domain = asyncio.run(story())
    assert text.split() == [f"p.{domain}"] * 3


def test_sysctls_are_the_pods_own_or_refused(tmp_path: Path) -> None:
    async def story() -> None:
        before = Path("/proc/sys/kernel/shm_rmid_forced").read_text(encoding="ascii")
        async with town(tmp_path) as here:
            sysctls = {"net.ipv4.tcp_keepalive_time": "61", "kernel.shm_rmid_forced": "1"}
            names = [f"/proc/sys/{name.replace('.', '/')}" for name in sysctls]
            pod = await here.pod("p", "cat", *names, box={"sysctls": sysctls})
            await pod.end()
            assert pod.text.split() == ["61", "1"]
            assert Path("/proc/sys/kernel/shm_rmid_forced").read_text(encoding="ascii") == before
            with pytest.raises(NotStarted, match=r"vm\.swappiness"):
                await here.runner.make(here.box("q", sysctls={"vm.swappiness": "1"}))

    asyncio.run(story())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a pod the host's network")
def test_root_can_give_a_pod_the_hosts_network(tmp_path: Path) -> None:
    async def story() -> str:
        async with town(tmp_path) as here:
            code = "import socket; print(sorted(name for _, name in socket.if_nameindex()))"
            pod = await here.python("p", code, box={"host_network": True})
            await pod.end()
            return pod.text

    assert asyncio.run(story()).strip() == str(sorted(name for _, name in socket.if_nameindex()))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_a_user_cannot_and_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            with pytest.raises(NotStarted, match="only root"):
                await here.runner.make(here.box("p", host_network=True))

    asyncio.run(story())


PROXIED = """
import os, urllib.request
names = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
assert all(os.environ[name] == os.environ[name.lower()] for name in names)
for url in ("http://data.example.org/set?x=1", "http://a.job:8080/", "http://127.0.0.1:1/"):
    try:
        print(urllib.request.urlopen(url, timeout=60).read().decode())
    except OSError as error:
        print("refused", url)
import http.client
tunnel = http.client.HTTPConnection(*os.environ["HTTPS_PROXY"].removeprefix("http://").split(":"), timeout=60)
tunnel.set_tunnel("data.example.org", 443)
tunnel.request("GET", "/secret")
print(tunnel.getresponse().read().decode())
for host in ("127.0.0.1", "169.254.169.254", "localhost", "2130706433", "[::ffff:127.0.0.1]", "0"):
    tunnel = http.client.HTTPConnection(*os.environ["HTTPS_PROXY"].removeprefix("http://").split(":"), timeout=60)
    tunnel.set_tunnel(host, 80)
    try:
        tunnel.request("GET", "/")
        print("reached", host, tunnel.getresponse().status)
    except OSError as error:
        print("kept from", host)
"""


async def _machines_proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Stands for the way out of this machine: says what it was asked for."""
    first = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
    if first.startswith(b"CONNECT"):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        first += b", then " + (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(first), first))
    writer.close()


@pytest.mark.parametrize("without", ["localhost,127.0.0.1,169.254.169.254", ""])
def test_the_way_out_is_a_proxy_that_leads_nowhere_on_this_machine(tmp_path: Path, without: str) -> None:
    page = "import http.server as h; h.HTTPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"

    async def story() -> list[str]:
        async with await asyncio.start_server(_machines_proxy, "127.0.0.1", 0) as proxy:
            way = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
            machine = {"http_proxy": way, "https_proxy": way, "no_proxy": without}
            async with town(tmp_path, environment=machine) as here:
                inside = await here.python("a", page, cwd="/tmp")
                await until(lambda: _listens(inside.started.pid), "the server")
                pod = await here.python("p", PROXIED)
                await pod.end()
                closed = await here.python(
                    "closed", "import os; print(os.environ.get('HTTP_PROXY'))", box={"egress": False}
                )
                await closed.end()
                return [*pod.text.splitlines(), closed.text.strip()]

    lines = asyncio.run(story())
    assert lines[0] == "GET http://data.example.org/set?x=1 HTTP/1.1"
    assert any("Directory listing" in line for line in lines)
    assert lines[-9] == "refused http://127.0.0.1:1/"
    assert lines[-8] == "CONNECT data.example.org:443 HTTP/1.1, then GET /secret HTTP/1.1"
    assert all(line.startswith("kept from ") for line in lines[-7:-1])
    assert lines[-1] == "None"


CROWD = """
import socket, time
way = ("10.244.0.1", 3128)
crowd = [socket.create_connection(way, timeout=20) for _ in range(MOST)]
with socket.create_connection(way, timeout=20) as far:
    print(far.recv(999).split(b"\\r\\n")[0].decode())
for each in crowd:
    each.close()
for _ in range(200):
    with socket.create_connection(way, timeout=20) as far:
        far.sendall(b"CONNECT 127.0.0.1:1 HTTP/1.1\\r\\n\\r\\n")
        answer = far.recv(999).split(b"\\r\\n")[0].decode()
    if "503" not in answer:
        break
    time.sleep(0.05)
print(answer)
"""


def test_one_pod_cannot_have_all_the_connections(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with town(tmp_path) as here:
            pod = await here.python("p", CROWD.replace("MOST", str(MOST_OPEN)))
            await pod.end()
            return pod.text.splitlines()

    assert asyncio.run(story()) == ["HTTP/1.1 503 Service Unavailable", "HTTP/1.1 403 Forbidden"]


SMUGGLED = """
import socket
for text in ("CONNECT a\\nHost:x:80 HTTP/1.1", "GET http://a.example.org\\@127.0.0.1/ HTTP/1.1"):
    with socket.create_connection(("10.244.0.1", 3128), timeout=20) as far:
        far.sendall(text.encode() + b"\\r\\n\\r\\n")
        print(far.recv(999).split(b"\\r\\n")[0].decode())
"""


def test_the_proxy_passes_on_what_it_has_understood_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with await asyncio.start_server(_machines_proxy, "127.0.0.1", 0) as proxy:
            way = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
            async with town(tmp_path, environment={"http_proxy": way, "https_proxy": way}) as here:
                pod = await here.python("p", SMUGGLED)
                await pod.end()
                return pod.text.splitlines()

    assert asyncio.run(story()) == ["HTTP/1.1 400 Bad Request", "HTTP/1.1 400 Bad Request"]


def _listens(pid: int) -> bool:
    return any(line.split()[3] == "0A" for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])


def test_a_pod_without_egress_is_refused_by_the_proxy_too(tmp_path: Path) -> None:
    code = """
import socket
with socket.create_connection(("10.244.0.1", 3128), timeout=60) as far:
    far.sendall(b"CONNECT example.org:443 HTTP/1.1\\r\\n\\r\\n")
    print(far.recv(999).decode())
"""

    async def story() -> str:
        async with town(tmp_path) as here:
            pod = await here.python("p", code, box={"egress": False})
            await pod.end()
            return pod.text

    assert "403 Forbidden" in asyncio.run(story())
