#!/bin/bash
# Runs once, when the server is new: a database each for Airflow and for the lake, with a user that owns nothing else.
set -euo pipefail

# Arguments: user, database, and the variable that holds the password, which is read by psql itself: a process's
# arguments can be seen.
create() {
    psql --username=postgres --dbname=postgres --set=ON_ERROR_STOP=1 --set=user="$1" --set=database="$2" <<SQL
\\getenv password $3
CREATE ROLE :"user" LOGIN PASSWORD :'password';
CREATE DATABASE :"database" OWNER :"user";
REVOKE CONNECT ON DATABASE :"database" FROM PUBLIC;
SQL
}

create airflow airflow AIRFLOW_DB_PASSWORD
create trickle lake LAKE_DB_PASSWORD
