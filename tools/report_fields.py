#!/usr/bin/env python3
"""Writes what is generated from the fields of the reports, docs/schema/geiger-report.schema.json and
docs/json-fields.md, or checks that it is as generated.

usage: report_fields.py GEIGER [--check]
"""
import json
import pathlib
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
HEAD = """# Fields of the JSON documents

Generated from the fields of the reports by `tools/report_fields.py`. [json.md](json.md) explains what several of them
have in common. A field in brackets is left out where there is nothing to say.

"""


def type_of(schema):
    """In words: "number", "list of [row](#row)"."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name})"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'])}"
    if "additionalProperties" in schema:
        return f"object of {type_of(schema['additionalProperties'])}"
    if isinstance(schema.get("type"), list):
        return " or ".join(schema["type"])
    return schema.get("type", "")


def lines_of(schema, path=""):
    """The rows of a table; those of an object that only this field has follow it."""
    lines = []
    for name, field in schema.get("properties", {}).items():
        if not field:
            continue  # schema_version and report, which all have.
        shown = f"`{path}{name}`" if name in schema.get("required", []) else f"[`{path}{name}`]"
        lines.append(f"| {shown} | {type_of(field)} | {field.get('description', '')} |")
        inner = field.get("items", field)
        if "properties" in inner:
            lines += lines_of(inner, f"{path}{name}{'[]' if 'items' in field else ''}.")
    return lines


def table_of(name, schema):
    meaning = schema.get("description", "")
    lines = [f"## {name}", ""] + ([meaning, ""] if meaning else [])
    return "\n".join(lines + ["| field | type | meaning |", "|---|---|---|"] + lines_of(schema)) + "\n"


def fields_page(schema):
    documents = [(rule["if"]["properties"]["report"]["const"], rule["then"]) for rule in schema["allOf"]]
    parts = [table_of(f"`{name}`", part) for name, part in documents]
    parts.append("# Parts of documents\n")
    parts += [table_of(name, part) for name, part in sorted(schema["$defs"].items())]
    return HEAD + "\n".join(parts)


def main():
    words = sys.argv[1:]
    printed = subprocess.run([words[0], "schema"], check=True, capture_output=True, text=True).stdout
    schema = json.loads(printed)
    made = {DOCS / "schema" / "geiger-report.schema.json": json.dumps(schema, indent=1) + "\n",
            DOCS / "json-fields.md": fields_page(schema)}
    for path, text in made.items():
        if "--check" not in words:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is not as generated: run tools/report_fields.py {words[0]}")


if __name__ == "__main__":
    main()
