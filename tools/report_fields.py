#!/usr/bin/env python3
"""Writes what is generated from the fields of the reports, docs/schema/geiger-report.schema.json and
docs/guide/json-fields.md, or checks that it is as generated.

usage: report_fields.py GEIGER [--check]
"""
import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
COMMON = 8  # Fields that as many documents have are listed once.
HEAD = """# Fields of the JSON documents

Generated from the fields of the reports by `tools/report_fields.py`. [json.md](json.md) explains what several of them
have in common. A field in brackets is left out where there is nothing to say.

"""


def type_of(schema, inlined):
    """In words: "number", "list of [row](#row)"."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return "object" if name in inlined else f"[{name}](#{name})"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'], inlined)}"
    if "additionalProperties" in schema:
        return f"object of {type_of(schema['additionalProperties'], inlined)}"
    if isinstance(schema.get("type"), list):
        return " or ".join(schema["type"])
    return schema.get("type", "")


def rows_of(schema, inlined, path=""):
    """(names, type, meaning) of each line. Neighbours that differ in their names alone share one; the
    fields of an object that only one field has follow that.
    """
    rows = []
    for name, field in schema.get("properties", {}).items():
        if not field:
            continue  # schema_version and report, which all have.
        shown = f"`{path}{name}`" if name in schema.get("required", []) else f"[`{path}{name}`]"
        inner = field.get("items", field)
        inner = inlined.get(inner.get("$ref", "").rsplit("/", 1)[-1], inner)
        meaning = field.get("description", "") or ("properties" in inner and inner.get("description")) or ""
        row = (type_of(field, inlined), meaning)
        if rows and rows[-1][1:] == row and "properties" not in inner:
            rows[-1] = (f"{rows[-1][0]}, {shown}", *row)
        else:
            rows.append((shown, *row))
        if "properties" in inner:
            rows += rows_of(inner, inlined, f"{path}{name}{'[]' if 'items' in field else ''}.")
    return rows


def list_of(name, meaning, rows):
    """A section. Neighbours without a meaning share a line."""
    lines = [f"## {name}", ""] + ([meaning, ""] if meaning else [])
    for what, neighbours in itertools.groupby(rows, key=lambda row: row[2]):
        texts = [names + (f" ({of})" if of else "") for names, of, _ in neighbours]
        lines += [f"- {text}: {what}" for text in texts] if what else ["- " + ", ".join(texts)]
    return "\n".join(lines) + "\n"


def fields_page(schema):
    uses = collections.Counter(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    inlined = {name: part for name, part in schema["$defs"].items() if uses[name] == 1}
    documents = {rule["if"]["properties"]["report"]["const"]: rule["then"] for rule in schema["allOf"]}
    rows = {name: rows_of(part, inlined) for name, part in documents.items()}
    users = collections.defaultdict(list)
    for name, of in rows.items():
        for row in of:
            users[row].append(f"`{name}`")
    common = {row: names for row, names in users.items() if len(names) >= COMMON}
    parts = [list_of("Fields of many documents", "Left out below.",
                      [(name, of, f"{meaning}; in {', '.join(names)}") for (name, of, meaning), names in common.items()])]
    parts += [list_of(f"`{name}`", part.get("description", ""), [row for row in rows[name] if row not in common])
              for name, part in documents.items()]
    parts.append("# Parts of documents\n")
    parts += [list_of(name, part.get("description", ""), rows_of(part, inlined))
              for name, part in sorted(schema["$defs"].items()) if name not in inlined]
    return HEAD + "\n".join(parts)


def main():
    words = sys.argv[1:]
    printed = subprocess.run([words[0], "schema"], check=True, capture_output=True, text=True).stdout
    schema = json.loads(printed)
    made = {DOCS / "schema" / "geiger-report.schema.json": json.dumps(schema, indent=1) + "\n",
            DOCS / "guide" / "json-fields.md": fields_page(schema)}
    for path, text in made.items():
        if "--check" not in words:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not as generated: run tools/report_fields.py {words[0]}")


if __name__ == "__main__":
    main()
