"""A small client for Airflow's REST API, as much of it as the demo and the end-to-end test need."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

#: States in which a run or a task changes no more.
FINISHED = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})


class ApiError(RuntimeError):
    """Airflow answered with an error, or did not get where it was expected in time."""


class AirflowApi:
    """Talks to one Airflow as one user; a token is fetched at the first call and when it has expired."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._credentials = {"username": user, "password": password}
        self._http = httpx.Client(base_url=url, timeout=30.0, trust_env=False)
        self._token: str | None = None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self) -> dict[str, str | None]:
        """The state of each part by name; empty while the server does not answer."""
        try:
            answer = self._http.get("/api/v2/monitor/health", timeout=5.0)
            answer.raise_for_status()
        except httpx.HTTPError:
            return {}
        return {part: state.get("status") for part, state in answer.json().items()}

    def warm_up(self) -> None:
        """Have the server build the routes its tasks use: it does so at the first request, for seconds."""
        with contextlib.suppress(httpx.HTTPError):
            self._http.get("/execution/health")

    def call(self, method: str, path: str, **kwargs: Any) -> Any:
        """One request below ``/api/v2``; the answer's JSON, or None if it has no body."""
        try:
            answer = self._http.request(method, f"/api/v2{path}", headers=self._headers(), **kwargs)
            if answer.status_code == httpx.codes.UNAUTHORIZED:
                self._token = None
                answer = self._http.request(method, f"/api/v2{path}", headers=self._headers(), **kwargs)
        except httpx.HTTPError as error:
            raise ApiError(f"{method} {path}: Airflow does not answer ({error!r})") from error
        if answer.is_error:
            raise ApiError(f"{method} {path} answered {answer.status_code}: {answer.text[:500]}")
        return answer.json() if answer.content else None

    def _headers(self) -> dict[str, str]:
        if self._token is None:
            answer = self._http.post("/auth/token", json=self._credentials)
            if answer.is_error:
                raise ApiError(f"Airflow refused the log-in: {answer.status_code}")
            self._token = answer.json()["access_token"]
        return {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}

    def dag_ids(self) -> list[str]:
        """All DAGs the dag-processor has found so far."""
        return sorted(dag["dag_id"] for dag in self._all("/dags", "dags"))

    def _all(self, path: str, key: str) -> list[dict[str, Any]]:
        """All entries of a list, page by page: Airflow gives no more than a hundred at a time, whatever is asked."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.call("GET", path, params={"limit": 100, "offset": len(found)})
            found += page[key]
            if not page[key] or len(found) >= page["total_entries"]:
                return found

    def dag(self, dag_id: str) -> dict[str, Any]:
        """One DAG with its details, among them ``doc_md``, ``tags`` and ``params``."""
        found: dict[str, Any] = self.call("GET", f"/dags/{dag_id}/details")
        return found

    def import_errors(self) -> list[dict[str, Any]]:
        """What could not be imported; ``filename`` and ``stack_trace`` of each."""
        errors: list[dict[str, Any]] = self.call("GET", "/importErrors")["import_errors"]
        return errors

    def wait_for_dag(self, dag_id: str, seconds: float = 60.0) -> None:
        """Wait until the dag-processor has found ``dag_id``; shows import errors if it does not."""
        deadline = time.monotonic() + seconds
        while dag_id not in (found := self.dag_ids()):
            if time.monotonic() > deadline:
                raise ApiError(
                    f"no DAG '{dag_id}' after {seconds:.0f} s; found: {', '.join(found) or 'none'}; "
                    f"import errors: {[error['stack_trace'] for error in self.import_errors()]}"
                )
            time.sleep(0.3)

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler run ``dag_id``."""
        self.call("PATCH", f"/dags/{dag_id}", json={"is_paused": False})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Start a manual run now; its run id."""
        body = {"logical_date": None, "conf": dict(conf or {})}
        run: dict[str, Any] = self.call("POST", f"/dags/{dag_id}/dagRuns", json=body)
        return str(run["dag_run_id"])

    def wait_for_first_run(self, dag_id: str, seconds: float = 60.0) -> str:
        """Wait until a DAG has a run at all, such as the one its schedule starts; its run id."""
        deadline = time.monotonic() + seconds
        while not (runs := self.call("GET", f"/dags/{dag_id}/dagRuns")["dag_runs"]):
            if time.monotonic() > deadline:
                raise ApiError(f"no run of {dag_id} after {seconds:.0f} s")
            time.sleep(0.25)
        return str(runs[0]["dag_run_id"])

    def count_runs(self, dag_id: str) -> int:
        """How many runs a DAG has had."""
        return int(self.call("GET", f"/dags/{dag_id}/dagRuns", params={"limit": 1})["total_entries"])

    def wait_for_next_run(self, dag_id: str, before: int, seconds: float = 60.0) -> str:
        """Wait until a DAG has more than ``before`` runs; the id of the newest."""
        deadline = time.monotonic() + seconds
        while self.count_runs(dag_id) <= before:
            if time.monotonic() > deadline:
                raise ApiError(f"no further run of {dag_id} after {seconds:.0f} s")
            time.sleep(0.5)
        newest = {"order_by": "-id", "limit": 1}
        return str(self.call("GET", f"/dags/{dag_id}/dagRuns", params=newest)["dag_runs"][0]["dag_run_id"])

    def wait_for_run(
        self,
        dag_id: str,
        run_id: str,
        seconds: float = 120.0,
        on_state: Callable[[str, str], None] | None = None,
    ) -> str:
        """Wait until a run has ended; its final state. ``on_state`` hears of every task's new state."""
        deadline = time.monotonic() + seconds
        seen: dict[str, str] = {}
        while True:
            state = str(self.call("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])
            if on_state is not None:
                for task in self.tasks(dag_id, run_id):
                    if task["state"] and task["state"] != seen.get(task["task_id"]):
                        seen[task["task_id"]] = task["state"]
                        on_state(task["task_id"], task["state"])
            if state in FINISHED:
                return state
            if time.monotonic() > deadline:
                raise ApiError(f"run {run_id} of {dag_id} is still {state} after {seconds:.0f} s")
            # Every question costs the server, and so the tasks, some milliseconds.
            time.sleep(0.5)

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """The task instances of a run in the order in which they started."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        found = self._all(path, "task_instances")
        return sorted(found, key=lambda task: (task["start_date"] or "9999", task["task_id"]))

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        """What a task returned."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/{key}"
        return self.call("GET", path, params={"deserialize": False, "stringify": False})["value"]

    def log(self, dag_id: str, run_id: str, task_id: str, attempt: int = 1) -> list[dict[str, Any]]:
        """The log of one attempt of a task, one dictionary per line (``event``, ``level``, …)."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{attempt}"
        content = self.call("GET", path, params={"full_content": True})["content"]
        return [line if isinstance(line, dict) else {"event": str(line)} for line in content]
