# Master and workers of Spark: what pip's pyspark carries, in the version that the drivers have. Executors run no Python.
FROM python:3.11.13-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    # The user of the Airflow image: both write into the warehouse.
    && useradd --uid 50000 --gid 0 --create-home spark \
    && install --directory --owner=50000 --group=0 --mode=0775 /warehouse

COPY constraints.txt /opt/constraints.txt
RUN pip install --no-cache-dir --constraint /opt/constraints.txt pyspark

USER 50000:0
