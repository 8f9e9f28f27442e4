"""What can be told of docker/ without a Docker: pinned images, no root, nothing on the network, no secrets."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / "docker"
TEXT = (FOLDER / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
#: ``${NAME}`` with what follows the name; ``$$`` is a dollar sign.
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)([^}]*)\}")
PINNED = re.compile(r"[\w./-]+:\d+\.\d+(\.\d+)?[\w.-]*")
ONE_SHOT = {"airflow-init"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_and_not_root(name: str) -> None:
    service = SERVICES[name]

    assert PINNED.fullmatch(service["image"]), service["image"]
    assert str(service["user"]).partition(":")[0] not in ("", "0", "root")
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_on_loopback_only(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert port.startswith("127.0.0.1:")
    assert "network_mode" not in SERVICES[name]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONE_SHOT))
def test_a_service_says_how_it_is(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(check)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_for_what_can_be_waited_for(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        wanted = "service_completed_successfully" if other in ONE_SHOT else "service_healthy"
        assert how == {"condition": wanted}


def test_every_secret_comes_from_the_environment_and_must_be_there() -> None:
    required = {name for name, rest in VARIABLE.findall(TEXT) if rest.startswith(":?")}
    others = {name: rest for name, rest in VARIABLE.findall(TEXT) if not rest.startswith(":?")}
    example = dict(re.findall(r"^(\w+)=(.*)$", (FOLDER / "env.example").read_text(), re.MULTILINE))

    assert all(rest.startswith(":-") for rest in others.values()), "either required or with a default"
    assert example.pop("COMPOSE_PROJECT_NAME") == "airflow-trickle"
    assert required == set(example)
    assert not any(example.values()), "placeholders only"
    for service in SERVICES.values():
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|CONN$|__URI$", key):
                assert VARIABLE.search(value), key


def test_secrets_are_not_part_of_any_image() -> None:
    ignored = (FOLDER.parent / ".gitignore").read_text().splitlines()
    assert "docker/.env" in ignored
    assert (FOLDER.parent / ".dockerignore").read_text().splitlines()[1] == "*"
    for service in SERVICES.values():
        assert "args" not in (service.get("build") or {})


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.Dockerfile")), ids=lambda file: file.name)
def test_images_start_from_exact_tags_and_end_as_a_user(file: Path) -> None:
    lines = file.read_text().splitlines()
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]

    assert bases
    assert all(re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+-[\w.-]+", base) for base in bases)
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER 50000:0"


def test_the_versions_are_those_that_are_tested() -> None:
    constraints = (FOLDER.parent / "constraints.txt").read_text()
    airflow = (FOLDER / "airflow.Dockerfile").read_text()

    (base,) = re.findall(r"FROM apache/airflow:([\d.]+)-", airflow)
    assert f"apache-airflow=={base}\n" in constraints
    # What is submitted from and what is submitted to are one Spark, because both keep to the same file.
    for file in FOLDER.glob("*.Dockerfile"):
        assert "--constraint" in file.read_text()


def test_what_is_built_and_mounted_is_there() -> None:
    for service in SERVICES.values():
        if "build" in service:
            assert (FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).exists()
    assert (FOLDER / "postgres" / "databases.sh").stat().st_mode & stat.S_IXUSR


def test_drivers_are_found_by_executors() -> None:
    for name in ("airflow-scheduler", "airflow-api-server"):
        connection = json.loads(SERVICES[name]["environment"]["AIRFLOW_CONN_TRICKLE_SPARK"])
        assert f"{connection['host']}:{connection['port']}" == SERVICES["spark-worker-1"]["command"][-1]
        assert connection["extra"]["conf"]["spark.driver.host"] in SERVICES


def test_the_warehouse_is_the_same_place_for_all_who_read_and_write_it() -> None:
    users = {
        name: service for name, service in SERVICES.items() if "warehouse:/warehouse" in service.get("volumes", [])
    }

    assert {"airflow-scheduler", "spark-worker-1", "spark-worker-2"} <= set(users)
    assert {service["user"] for service in users.values()} == {"50000:0"}


def test_spark_wants_a_secret_on_all_sides() -> None:
    for name in ("spark-master", "spark-worker-1", "spark-worker-2"):
        environment = SERVICES[name]["environment"]
        assert environment["_SPARK_AUTH_SECRET"].startswith("${SPARK_AUTH_SECRET:?")
        assert {"-Dspark.authenticate=true", "-Dspark.network.crypto.enabled=true"} <= set(
            environment["SPARK_DAEMON_JAVA_OPTS"].split()
        )
        assert "SECRET" not in " ".join(SERVICES[name]["command"])
    conf = json.loads(SERVICES["airflow-scheduler"]["environment"]["AIRFLOW_CONN_TRICKLE_SPARK"])["extra"]["conf"]
    assert (conf["spark.authenticate"], conf["spark.network.crypto.enabled"]) == ("true", "true")
    assert conf["spark.authenticate.secret"].startswith("${SPARK_AUTH_SECRET:?")


def _mib(text: str) -> int:
    found = re.fullmatch(r"(\d+)([mg])", text)
    assert found, text
    return int(found[1]) * (1024 if found[2] == "g" else 1)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_a_limit_of_memory(name: str) -> None:
    service = SERVICES[name]
    command, limit = service.get("command", []), _mib(service["mem_limit"])
    heap = _mib(service.get("environment", {}).get("SPARK_DAEMON_MEMORY", "0m"))
    if "--memory" in command:
        heap += _mib(command[command.index("--memory") + 1])
    assert limit >= 512
    assert limit > 1.2 * heap
