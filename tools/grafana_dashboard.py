#!/usr/bin/env python3
"""Writes recipes/grafana-dashboard.json: a fleet in ClickHouse, in SQL alone (docs/guide/clickhouse.md).

usage: grafana_dashboard.py > recipes/grafana-dashboard.json

The queries are put together here because every panel estimates: the same sums and the same limits,
those of docs/internals/estimators.md by the approximations of docs/guide/sql.md. They run on Debian's server and on
modern ones.
"""
import json

SERVICE, VERSION, BEFORE = "'${service}'", "'${version}'", "'${before}'"
PLUGIN = "grafana-clickhouse-datasource"
# Quantiles of the normal law and of the exponential law at 95 %.
Z, NEXT_EVENT = "1.959963984540054", "3.6888794541139363"


def where(version=VERSION):
    return (f"service = {SERVICE} AND version = {version} AND $__timeFilter(started)")


def reciprocal_rate(step):
    """1/lambda of an interval."""
    u = f"1.0 / toFloat64({step})"
    return f"1.0 / ({u} * (1.0 + {u} * (0.5 + {u} * (1.0 / 3.0 + {u} * (0.25 + 0.2 * {u})))))"


def host_ms(version):
    """Of each host the time in which some process was recorded: that between beginnings and ends at which more
    windows have begun than ended (docs/internals/estimators.md)."""
    events = ("arraySort(arrayConcat(groupArray((began_ms, 1)), "
              "groupArray((began_ms + toInt64(recorded_ms), -1))))")
    covered = (f"arraySum(arrayMap((depth, length) -> if(depth > 0, length, 0), arrayCumSum(arrayMap(x -> x.2, "
               f"{events})), arrayPushBack(arrayPopFront(arrayDifference(arrayMap(x -> x.1, {events}))), 0)))")
    return f"(SELECT host, {covered} AS m FROM windows FINAL WHERE {where(version)} GROUP BY host)"


def recorded_ms(version=VERSION):
    """Of the host that was recorded for longest."""
    return f"(SELECT max(m) FROM {host_ms(version)})"


def sums(key, count, version=VERSION, with_sites=True):
    """s, X, B, Y and V by `key`, an expression of function, module and started."""
    cells = (f"SELECT started, stack_id, certain, thinning, step, toFloat64(size) AS z, "
             f"{count} AS n FROM counts FINAL WHERE {where(version)}")
    if with_sites:
        cells = (f"SELECT * FROM ({cells}) AS cells ALL INNER JOIN "
                 "(SELECT stack_id, function, module FROM sites FINAL) AS named USING (stack_id)")
    keep = "exp2(-toFloat64(thinning))" if "live" in count else "1.0"
    drawn = (f"SELECT {key} AS key, certain, z, n, z / ({reciprocal_rate('step')}) AS a, "
             f"{keep} * if(a < 0.03125, a * (1.0 - a / 2.0 * (1.0 - a / 3.0 * (1.0 - a / 4.0 * "
             "(1.0 - a / 5.0 * (1.0 - a / 6.0))))), 1.0 - exp(-a)) AS pi "
             f"FROM ({cells}) WHERE n > 0")
    return ("SELECT key, sum(if(certain = 1, 0.0, toFloat64(n))) AS s, "
            "sum(if(certain = 1, n * z, 0.0)) AS x, sum(if(certain = 1, 0.0, n * z)) AS b, "
            "sum(if(certain = 1, 0.0, n * z / pi)) AS y, "
            "sum(if(certain = 1, 0.0, n * z / pi * (z * (1.0 - pi) / pi))) AS v "
            f"FROM ({drawn}) GROUP BY key")


def estimates(key, count, version=VERSION, name="name", with_sites=True):
    """Value and 95 % interval by `key`: two gamma laws, their quantiles by cubes (docs/guide/sql.md)."""
    keep = "exp2(-toFloat64(max(thinning)))" if "live" in count else "1.0"
    largest = (f"SELECT max(step) AS t, {keep} AS k, {reciprocal_rate('t')} AS r, "
               "if(k < 1.0, r / -log(1.0 - k * 0.6321205588285577), r) AS e "
               f"FROM windows FINAL WHERE {where(version)}")
    largest = f"(SELECT e FROM ({largest}))"
    laws = (f"SELECT key, s, x, b, y, v, toFloat64({largest}) AS e, greatest(y - b, 0.0) + e AS m, "
            "if(y > 0, sqrt(v) / y, 0.0) AS dl, sqrt(v + e * e) / m AS du "
            f"FROM ({sums(key, count, version, with_sites)})")
    limits = ("SELECT key, s, x, b, y, 1.0 - dl * dl / 9.0 - " + Z + " * dl / 3.0 AS rl, "
              "1.0 - du * du / 9.0 + " + Z + " * du / 3.0 AS ru, "
              "if(rl > 0, y * rl * rl * rl, 0.0) AS low, "
              f"b + m * if(v > 0, ru * ru * ru, {NEXT_EVENT}) AS high FROM ({laws})")
    return (f"SELECT key AS {name}, x + y AS bytes, x + least(greatest(b, low), y) AS at_least, "
            f"x + greatest(high, y) AS at_most, toUInt64(round(s)) AS samples FROM ({limits})")


def difference():
    """What an average host allocates in an hour, of two versions."""
    def side(version, sign):
        hours = f"(SELECT sum(m) / 3600000 FROM {host_ms(version)})"
        return (f"SELECT key AS function, {'1' if sign > 0 else '0'} AS is_after, (x + y) / h AS value, "
                f"v / (h * h) AS variance, {hours} AS h FROM ({sums('function', 'allocated', version)})")
    return ("SELECT function AS name, sum(if(is_after = 0, value, 0.0)) AS before, "
            "sum(if(is_after = 1, value, 0.0)) AS after, after - before AS change, "
            f"{Z} * sqrt(sum(variance)) AS plus_or_minus "
            f"FROM ({side(BEFORE, -1)} UNION ALL {side(VERSION, 1)}) GROUP BY function "
            "ORDER BY abs(change) - plus_or_minus DESC LIMIT 50")


LIVE = f"toFloat64(live) * recorded_ms / {recorded_ms()}"
PANELS = [
    ("table", "Allocated, by function", "Bytes with their 95 % intervals: sampling error only.",
     estimates("function", "allocated") + " ORDER BY bytes DESC LIMIT 30"),
    ("table", "Live on average, by function",
     "Bytes that lived, over the time that was recorded: sampling error only.",
     estimates("function", LIVE) + " ORDER BY bytes DESC LIMIT 30"),
    ("timeseries", "Allocated per hour",
     "Of all hosts, as far as they were recorded, between the limits of its 95 % interval.",
     estimates("toStartOfHour(started)", "allocated", name="time", with_sites=False)
     + " ORDER BY time"),
    ("table", "Changed, per hour of a host",
     "Between the two versions. Sampling error only: hosts differ by more, so what stands here may be "
     "chance. 'geiger fleet diff' takes hosts for runs.", difference()),
    ("timeseries", "Hosts", "That ran, and that were recorded.",
     "SELECT toStartOfHour(started) AS time, uniqExact(host) AS hosts, "
     f"uniqExactIf(host, recorded_ms > 0) AS recorded FROM windows FINAL WHERE {where()} "
     "GROUP BY time ORDER BY time"),
]


def panel(number, kind, title, description, query):
    source = {"type": PLUGIN, "uid": "${datasource}"}
    wide, high = 12, 9
    return {
        "id": number + 1, "type": kind, "title": title, "description": description,
        "datasource": source,
        "gridPos": {"x": number % 2 * wide, "y": number // 2 * high, "w": wide, "h": high},
        "fieldConfig": {"defaults": {} if title == "Hosts" else {"unit": "bytes"}, "overrides": [
            {"matcher": {"id": "byName", "options": "samples"},
             "properties": [{"id": "unit", "value": "short"}]}] if kind == "table" else []},
        "targets": [{"refId": "A", "datasource": source, "editorType": "sql",
                     "queryType": kind if kind == "timeseries" else "table",
                     "format": 0 if kind == "timeseries" else 1, "rawSql": query}],
    }


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "query": query, "refresh": 2,
            "datasource": {"type": PLUGIN, "uid": "${datasource}"}}


def dashboard():
    versions = f"SELECT DISTINCT version FROM windows WHERE service = {SERVICE} ORDER BY version"
    return {
        "title": "geiger: memory of a fleet", "uid": "geiger-fleet", "schemaVersion": 39,
        "tags": ["geiger"], "time": {"from": "now-24h", "to": "now"}, "refresh": "",
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": PLUGIN, "label": "Store"},
            variable("service", "Service", "SELECT DISTINCT service FROM windows ORDER BY service"),
            variable("version", "Version", versions), variable("before", "Compared with", versions)]},
        "panels": [panel(number, *facts) for number, facts in enumerate(PANELS)],
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
