"""Requests made from the coordinator's own OpenAPI document, valid and invalid, against a served coordinator. Needs
schemathesis (a development dependency).

No request may end in a server error, and every refusal has the documented shape.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx


def fuzz_http(
    document: dict[str, Any], client: httpx.Client, *, examples: int, known: dict[str, list[str]]
) -> tuple[Counter[int], list[str]]:
    """This many requests to each operation; statuses, and what went wrong. `known` are values (by parameter) that exist
    at the server: half of the requests use them, so that not everything ends at the first check."""
    import hypothesis  # noqa: PLC0415
    import schemathesis  # noqa: PLC0415

    statuses: Counter[int] = Counter()
    wrong: list[str] = []
    schema = schemathesis.openapi.from_dict(document)
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]

        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), real=hypothesis.strategies.booleans())
        def one(case: Any, real: bool) -> None:
            parameters = dict(case.path_parameters or {})
            if real:
                parameters |= {name: values[0] for name, values in known.items() if name in parameters}
            url = case.path.format(**{name: _quoted(value) for name, value in parameters.items()})
            query = {name: str(value) for name, value in (case.query or {}).items()} | {"wait": "0"}
            body = case.body if isinstance(case.body, (bytes, str)) else json.dumps(case.body, default=repr)
            response = client.request(
                case.method, url, params=query, content=body.encode() if isinstance(body, str) else body
            )
            statuses[response.status_code] += 1
            refused = response.status_code >= 400 and response.status_code not in (404, 405, 422)
            if response.status_code >= 500 or (refused and set(response.json()) != {"error", "sentence"}):
                wrong.append(f"{case.method} {url} {query}: {response.status_code} {response.text[:200]}")

        one()
    return statuses, wrong


def _quoted(value: object) -> str:
    return (
        "".join(character if character.isalnum() else f"%{ord(character) % 256:02x}" for character in str(value))
        or "%20"
    )
