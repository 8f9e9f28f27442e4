"""The gRPC side of Spark Connect: where a client connects, whether a server answers, errors in words."""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.spark.state import ServerState
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import grpc  # type: ignore[import-untyped]
    from pyspark.sql.connect.client import DefaultChannelBuilder

#: The same for every client of ours: a session is found again only under the same user.
USER = "airflow-trickle"
#: The first session of a cold server loads many classes.
SESSION_SECONDS = 60.0


@dataclass(frozen=True)
class Endpoint:
    """A server to talk to."""

    url: str = field(repr=False)
    #: For messages.
    address: str
    embedded: bool = False

    @classmethod
    def of_server(cls, port: int, token: str) -> Endpoint:
        """The embedded server."""
        url = f"sc://127.0.0.1:{port}/;token={quote(token, safe='')}"
        return cls(url, f"127.0.0.1:{port}", embedded=True)

    @classmethod
    def of_target(cls, target: SparkTarget) -> Endpoint:
        """A Connect server of a connection."""
        return cls(target.url, target.address)


def require_client() -> None:
    """Raise with what to install if pyspark's Connect client is not there."""
    try:
        import grpc  # type: ignore[import-untyped]  # noqa: F401
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        raise SparkUnavailable(
            f"pyspark's Connect client cannot be loaded: {error}. Install it with: pip install 'airflow-trickle[spark]'"
        ) from error


def channel_builder(endpoint: Endpoint, session_id: str, app: str) -> DefaultChannelBuilder:
    """What pyspark makes its gRPC channel with; its ``toChannel`` gives the same channel every time."""
    import grpc  # type: ignore[import-untyped]
    from pyspark.sql.connect.client import DefaultChannelBuilder

    class Builder(DefaultChannelBuilder):
        _made: grpc.Channel | None = None

        def toChannel(self) -> grpc.Channel:
            if self._made is None:
                self._made = self._loopback() if endpoint.embedded else super().toChannel()
            return self._made

        def _loopback(self) -> grpc.Channel:
            # pyspark sends a token without TLS only to the name "localhost", which may mean ::1, where
            # another user's process could listen and be told the token. This address means one thing.
            credentials = grpc.composite_channel_credentials(
                grpc.local_channel_credentials(), grpc.access_token_call_credentials(self.token)
            )
            return self._secure_channel(self.endpoint, credentials)

    # A proxy of the environment must not be asked for loopback.
    options = [("grpc.enable_http_proxy", 0)] if endpoint.embedded else []
    builder = Builder(endpoint.url, options)
    builder.set("session_id", session_id)
    builder.set("user_agent", app)
    return builder


def before_queries(do: Callable[[], None]) -> grpc.UnaryStreamClientInterceptor:
    """Have something done before a channel sends a query that is to run."""
    import grpc

    class Before(grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
        def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
            if details.method.endswith("/ExecutePlan"):
                do()
            return continuation(details, request)

    return Before()


def answers(state: ServerState, seconds: float, tries: int = 1) -> bool:
    """Whether the embedded server takes a connection and answers a call that costs it nothing."""
    import grpc  # type: ignore[import-untyped]

    for _ in range(tries):
        try:
            with socket.create_connection(("127.0.0.1", state.port), timeout=seconds):
                pass
            # To release a session that never was is the one call that makes no session.
            with calls(Endpoint.of_server(state.port, state.token), str(uuid.uuid4())) as call:
                call.release(seconds)
        except ConnectionRefusedError:
            return False  # nobody listens: asking again does not help
        except (OSError, grpc.RpcError):
            continue
        return True
    return False


class Calls:
    """Single calls for one session, each with a time limit, which pyspark's own client does not have."""

    def __init__(self, builder: DefaultChannelBuilder) -> None:
        from pyspark.sql.connect.proto import base_pb2_grpc

        self._builder = builder
        stub: Any = base_pb2_grpc.SparkConnectServiceStub
        self._stub = stub(builder.toChannel())

    def configure(self, settings: dict[str, str], seconds: float) -> None:
        """Set all settings of the session in one round trip; makes the session if it is new."""
        from pyspark.sql.connect import proto

        pairs = [proto.KeyValue(key=key, value=value) for key, value in settings.items()]
        operation = proto.ConfigRequest.Operation(set=proto.ConfigRequest.Set(pairs=pairs))
        self._send(self._stub.Config, proto.ConfigRequest(operation=operation), seconds)

    def settings(self, prefix: str, seconds: float) -> dict[str, str]:
        """What is set of the session and of its server, by names that begin so."""
        from pyspark.sql.connect import proto

        operation = proto.ConfigRequest.Operation(get_all=proto.ConfigRequest.GetAll(prefix=prefix))
        answer = self._send(self._stub.Config, proto.ConfigRequest(operation=operation), seconds)
        # Spark leaves the prefix out of the names that it answers with.
        return {f"{prefix}{pair.key}": pair.value for pair in answer.pairs}

    def unset(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Let settings be Spark's defaults in the session; the ones that the server lets nobody change are left."""
        from pyspark.sql.connect import proto

        asked = proto.ConfigRequest.Operation(is_modifiable=proto.ConfigRequest.IsModifiable(keys=keys))
        answer = self._send(self._stub.Config, proto.ConfigRequest(operation=asked), seconds)
        free = [pair.key for pair in answer.pairs if pair.value == "true"]
        if free:
            operation = proto.ConfigRequest.Operation(unset=proto.ConfigRequest.Unset(keys=free))
            self._send(self._stub.Config, proto.ConfigRequest(operation=operation), seconds)
        return free

    def interrupt(self, seconds: float) -> tuple[str, ...]:
        """Interrupt everything the session runs; the ids of what was interrupted."""
        from pyspark.sql.connect import proto

        everything = proto.InterruptRequest.InterruptType.INTERRUPT_TYPE_ALL
        answer = self._send(self._stub.Interrupt, proto.InterruptRequest(interrupt_type=everything), seconds)
        return tuple(answer.interrupted_ids)

    def release(self, seconds: float) -> None:
        """End the session and free what it holds on the server."""
        from pyspark.sql.connect import proto

        self._send(self._stub.ReleaseSession, proto.ReleaseSessionRequest(), seconds)

    def _send(self, method: Any, request: Any, seconds: float) -> Any:
        request.session_id = self._builder.session_id
        request.user_context.user_id = self._builder.userId or USER
        request.client_type = self._builder.userAgent
        return method(request, metadata=self._builder.metadata(), timeout=seconds)


@contextlib.contextmanager
def calls(endpoint: Endpoint, session_id: str) -> Iterator[Calls]:
    """Calls over a channel of their own, closed afterwards."""
    builder = channel_builder(endpoint, session_id, USER)
    try:
        yield Calls(builder)
    finally:
        builder.toChannel().close()


def reach(endpoint: Endpoint) -> None:
    """Raise within seconds if nobody listens; pyspark itself would try for ten minutes."""
    host, _, port = endpoint.address.rpartition(":")
    if any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return  # the way may lead through a proxy, so a direct connection tells nothing
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=tuning().spark_reach_seconds).close()
    except OSError as error:
        raise unreachable(endpoint, _reason(error)) from error


def _reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, TimeoutError):
        return f"no answer within {tuning().spark_reach_seconds:.0f} s"
    return error.strerror or str(error)


def wait_ready(endpoint: Endpoint, channel: grpc.Channel) -> None:
    """Raise within seconds if what listens there does not speak Spark Connect's protocol."""
    import grpc  # type: ignore[import-untyped]

    seconds = tuning().spark_ready_seconds
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        raise unreachable(endpoint, f"it takes connections, but did not speak gRPC within {seconds:.0f} s") from None


def unreachable(endpoint: Endpoint, reason: str) -> SparkUnavailable:
    """The error for a server that is not there."""
    if endpoint.embedded:
        return SparkUnavailable(f"The embedded Spark server at {endpoint.address} went away: {reason}. Try again.")
    return SparkUnavailable(
        f"Spark Connect at {endpoint.address} cannot be reached: {reason}. Check the host and port of the "
        f"Spark connection, and that the server runs and speaks {'TLS' if _tls(endpoint) else 'plain gRPC'}."
    )


def _tls(endpoint: Endpoint) -> bool:
    return "use_ssl=true" in endpoint.url or "token=" in endpoint.url


def told(endpoint: Endpoint, error: grpc.RpcError) -> SparkUnavailable:
    """A failed first call in words; gRPC's details hold no token."""
    import grpc  # type: ignore[import-untyped]

    code = error.code() if isinstance(error, grpc.Call) else None
    details = (error.details() or "").strip() if isinstance(error, grpc.Call) else str(error)
    first = details.splitlines()[0][:500] if details else "no details"
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return SparkUnavailable(
            f"Spark Connect at {endpoint.address} refused us: {first}. "
            f"Check the token (password) of the Spark connection."
        )
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return unreachable(endpoint, first)
    return SparkUnavailable(f"Spark Connect at {endpoint.address} refused the session: {first}")
