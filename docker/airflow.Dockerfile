# Airflow with airflow-trickle, and with a Spark to submit from: drivers run beside the tasks.
FROM apache/airflow:3.3.2-python3.11

USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    # A new volume takes over the owner of the folder that it is mounted on.
    && install --directory --owner=50000 --group=0 --mode=0775 /warehouse

USER 50000:0
COPY --chown=50000:0 pyproject.toml README.md CHANGELOG.md LICENSE constraints.txt /opt/airflow-trickle/
COPY --chown=50000:0 airflow_trickle /opt/airflow-trickle/airflow_trickle
COPY --chown=50000:0 spark_jobs /opt/airflow-trickle/spark_jobs
RUN pip install --no-cache-dir --constraint /opt/airflow-trickle/constraints.txt \
    "/opt/airflow-trickle[airflow,spark,postgres,fast]"
