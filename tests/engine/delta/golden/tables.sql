-- The inputs of all golden cases. Every column may hold NULL, and rows may be there several times.

CREATE TABLE a (k INT, v INT, s STRING);
CREATE TABLE b (k INT, w DECIMAL(10,2));
CREATE TABLE c (k INT, tags ARRAY<STRING>);
CREATE TABLE f (k INT, d DOUBLE);
CREATE TABLE n (v INT, a STRUCT<k: INT, v: INT>);
-- Values at the edges of their types.
CREATE TABLE t (k INT, g STRING, v DECIMAL(10,2), i INT, b BIGINT);
CREATE TABLE u (k INT, w DECIMAL(15,2));
-- Two names to Spark, one by full case folding; and names that need quotes.
CREATE TABLE m (k INT, mass INT, `maß` INT, `a (b), c` INT);
