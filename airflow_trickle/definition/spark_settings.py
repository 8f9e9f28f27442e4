"""Which settings of Spark only decide how a query runs, and which decide what it means."""

from __future__ import annotations

#: Settings that change how fast a query runs, never its rows. Whatever is not here may decide what a query means.
_PERFORMANCE = frozenset(
    {
        "spark.scheduler.pool",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.broadcastTimeout",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.execution.reuseSubquery",
        "spark.sql.execution.topKSortFallbackThreshold",
        "spark.sql.execution.usePartitionEvaluator",
        "spark.sql.exchange.reuse",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.files.maxPartitionNum",
        "spark.sql.files.maxRecordsPerFile",
        "spark.sql.files.minPartitionNum",
        "spark.sql.files.openCostInBytes",
        "spark.sql.join.preferSortMergeJoin",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.maxBroadcastTableSize",
        "spark.sql.maxPlanStringLength",
        "spark.sql.maxSinglePartitionBytes",
        "spark.sql.optimizer.inSetConversionThreshold",
        "spark.sql.optimizer.maxIterations",
        "spark.sql.parquet.columnarReaderBatchSize",
        "spark.sql.parquet.compression.codec",
        "spark.sql.parquet.enableVectorizedReader",
        "spark.sql.requireAllClusterKeysForCoPartition",
        "spark.sql.requireAllClusterKeysForDistribution",
        "spark.sql.shuffle.partitions",
        "spark.sql.shuffledHashJoinFactor",
    }
)
_PERFORMANCE_PREFIXES = (
    "spark.sql.adaptive.",
    "spark.sql.cartesianProductExec.buffer.",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.dynamicPartitionPruning.",
    "spark.sql.optimizer.runtime.",
    "spark.sql.parquet.filterPushdown",
    "spark.sql.sort.",
    "spark.sql.sortMergeJoinExec.buffer.",
    "spark.sql.sources.bucketing.",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.statistics.",
    "spark.sql.ui.",
    "spark.sql.windowExec.buffer.",
)


def is_performance(key: str) -> bool:
    """Whether a setting changes only how a query runs.

    >>> is_performance("spark.sql.shuffle.partitions"), is_performance("spark.sql.timestampType")
    (True, False)
    """
    return key in _PERFORMANCE or key.startswith(_PERFORMANCE_PREFIXES)


def may_decide_meaning(key: str) -> bool:
    """Whether a setting may decide what rows a query gives.

    Not those of Spark's own catalogs: a query reads our views alone, and they may hold credentials.

    >>> may_decide_meaning("spark.sql.timestampType"), may_decide_meaning("spark.sql.catalog.prod.credential")
    (True, False)
    """
    return key.startswith("spark.sql.") and not key.startswith("spark.sql.catalog.") and not is_performance(key)
