"""What happens to the sources between two ticks: RF1, RF2, and updates of every kind."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from tests.tpch.shop import Shop

#: By table: its key, and for some columns the values that queries ask for, or those that make trouble.
UPDATES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "region": ("r_regionkey", {"r_comment": ["'other'", "NULL"]}),
    "nation": ("n_nationkey", {"n_regionkey": ["1", "2", "3"], "n_comment": ["'other'"]}),
    "supplier": (
        "s_suppkey",
        {
            "s_nationkey": ["2", "3", "6", "7", "20", "NULL"],
            "s_acctbal": ["s_acctbal + 1000", "NULL"],
            "s_comment": ["'the Customer has Complaints'", "'fine'", "NULL"],
            "s_name": ["'Supplier'", "NULL"],
        },
    ),
    "customer": (
        "c_custkey",
        {
            "c_mktsegment": ["'BUILDING'", "NULL"],
            "c_nationkey": ["1", "6", "7", "8", "NULL"],
            "c_acctbal": ["9000.01", "-1.00", "NULL"],
            "c_phone": ["'13-000-000-0000'", "'31-000-000-0000'", "NULL"],
        },
    ),
    "part": (
        "p_partkey",
        {
            "p_type": ["'ECONOMY ANODIZED STEEL'", "'PROMO BURNISHED BRASS'", "'LARGE BRUSHED BRASS'", "NULL"],
            "p_size": ["15", "3", "49", "NULL"],
            "p_brand": ["'Brand#23'", "'Brand#12'", "'Brand#45'", "NULL"],
            "p_container": ["'MED BOX'", "'SM CASE'", "NULL"],
            "p_name": ["'forest green'", "'green'", "NULL"],
        },
    ),
    "partsupp": (
        "ps_partkey",
        {
            "ps_supplycost": ["1.00", "ps_supplycost * 2", "NULL"],
            "ps_availqty": ["99999", "1", "NULL"],
            "ps_suppkey": ["ps_suppkey % 50 + 1", "NULL"],
        },
    ),
    "orders": (
        "o_orderkey",
        {
            "o_custkey": ["o_custkey % 1000 + 1", "NULL"],
            "o_orderdate": ["DATE '1993-08-01'", "DATE '1994-02-01'", "DATE '1995-03-01'", "NULL"],
            "o_orderpriority": ["'1-URGENT'", "NULL"],
            "o_orderstatus": ["'F'", "NULL"],
            "o_comment": ["'special packages and requests'", "'none'", "NULL"],
        },
    ),
    "lineitem": (
        "l_orderkey",
        {
            "l_quantity": ["50", "1", "NULL"],
            "l_discount": ["0.06", "0.00", "NULL"],
            "l_shipdate": ["DATE '1994-06-01'", "DATE '1995-09-15'", "DATE '1996-02-01'", "NULL"],
            "l_receiptdate": ["l_commitdate + 1", "DATE '1994-07-01'", "NULL"],
            "l_returnflag": ["'R'", "NULL"],
            "l_suppkey": ["l_suppkey % 100 + 1", "NULL"],
            "l_partkey": ["l_partkey % 2000 + 1", "NULL"],
            "l_shipmode": ["'MAIL'", "'AIR'", "NULL"],
        },
    ),
}


def made_small(shop: Shop, chance: Random) -> None:
    """What a small scale lacks: suppliers in the nations that queries ask for, and the parts."""
    keys = sorted(shop.some_keys(chance, "supplier", "s_suppkey"))
    nations = ("2", "3", "6", "7", "20", "9")
    shop.update("supplier", "s_suppkey", {"s_nationkey": {one: nations[one % len(nations)] for one in keys[:40]}})
    wanted_parts(shop, chance, 10)


def new_orders(shop: Shop, chance: Random, count: int) -> None:
    """RF1: orders and their lines, like those there are, under new keys; some lines twice."""
    keys = shop.some_keys(chance, "orders", "o_orderkey")[:count]
    shift = 10_000_000 + chance.randrange(10**9)
    rows = {}
    for name, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        listed = ", ".join(map(str, keys))
        rows[name] = shop.select(
            f"SELECT * REPLACE ({key} + {shift} AS {key}) FROM {name} WHERE {key} IN ({listed})", name
        )
    shop.insert("orders", rows["orders"])
    shop.insert("lineitem", pa.concat_tables([rows["lineitem"], rows["lineitem"].slice(0, 5)]))


def old_orders(shop: Shop, chance: Random, count: int) -> None:
    """RF2: orders and their lines go; the lines of one order stay behind."""
    keys = shop.some_keys(chance, "orders", "o_orderkey")[:count]
    shop.remove("orders", "o_orderkey", keys)
    shop.remove("lineitem", "l_orderkey", keys[1:])


def updates(shop: Shop, chance: Random, name: str, count: int) -> None:
    """Every column of `UPDATES`, each in ``count`` rows of its own, as far as there are so many; one commit."""
    key, columns = UPDATES[name]
    known = shop.some_keys(chance, name, key)
    found: dict[str, dict[Any, str]] = {}
    for column, values in columns.items():
        keys, known = known[:count], known[count:]
        found[column] = {one: values[number % len(values)] for number, one in enumerate(keys)}
    shop.update(name, key, found)


def copies(shop: Shop, name: str, where: str) -> None:
    """Some rows once more: no table of Iceberg has keys."""
    shop.insert(name, shop.select(f"SELECT * FROM {name} WHERE {where}", name))


def wanted_parts(shop: Shop, chance: Random, count: int) -> None:
    """Parts that have all that Q8, Q9, Q17, Q19 and Q20 ask for at once, which chance alone hardly ever makes."""
    keys = shop.some_keys(chance, "part", "p_partkey")[:count]
    values = {
        "p_brand": "'Brand#23'",
        "p_container": "'MED BOX'",
        "p_size": "5",
        "p_name": "'forest green'",
        "p_type": "'ECONOMY ANODIZED STEEL'",
    }
    shop.update("part", "p_partkey", {column: dict.fromkeys(keys, value) for column, value in values.items()})


def regions_renamed(shop: Shop) -> None:
    """The regions that queries ask for change their names in a ring."""
    names = {1: "'EUROPE'", 2: "'AMERICA'", 3: "'ASIA'"}
    shop.update("region", "r_regionkey", {"r_name": names})
