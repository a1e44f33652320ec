"""Random requests made from the service's own description, and what must hold for each.

No request may cause a server error, and every answer must have a status, a type and a shape that
the description names; what violates the description must be refused.
"""

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.server.served import OPTIONS

NAME, FINISHED = "fuzzed", "finished"
STUDY = {"name": NAME, "table": {"csv": OPTIONS, "features": ["price"]}, "noise": 0.5}


def checks():
    """What must hold of an answer. (Loaded here: every process of tests reads this file.)"""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as openapi

    return [
        not_a_server_error,
        openapi.status_code_conformance,
        openapi.content_type_conformance,
        openapi.response_headers_conformance,
        openapi.response_schema_conformance,
        openapi.negative_data_rejection,
    ]


def operations(served):
    """All operations of a service, by method and path."""
    import schemathesis

    with served.http() as http:
        description = http.get("/api/v1/openapi.json").json()
    for methods in description["paths"].values():
        for operation in methods.values():
            del operation["security"]  # all requests have a valid token; others are tested apart
    schema = schemathesis.openapi.from_dict(description)
    schema.config.update(base_url=served.url)
    found = [result.ok() for result in schema.get_all_operations()]
    return {f"{one.method.upper()} {one.path}": one for one in found}


def fuzz(served, operation, cases, mode):
    """Send so many requests of one kind (valid or invalid); raises where an answer is wrong."""
    from schemathesis import GenerationMode

    if mode == "invalid" and not _can_be_wrong(operation):
        return {}
    http = served.http()
    headers = {"Authorization": f"Bearer {served.token}"}
    counts, all_checks = {}, checks()
    how = GenerationMode.POSITIVE if mode == "valid" else GenerationMode.NEGATIVE

    @settings(
        max_examples=cases,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=how), real=st.integers(0, 2**32))
    def send(case, real):
        if mode == "valid" and real % 4:
            _make_real(case, NAME if real % 2 else FINISHED)
        answer = case.call_and_validate(checks=all_checks, headers=headers, timeout=60)
        counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
        if answer.status_code == 204 or counts.get(404, 0) % 50 == 1:
            http.post("/api/v1/studies", json=STUDY)  # it may have been deleted

    http.post("/api/v1/studies", json=STUDY)
    _finish(http)
    try:
        send()
    finally:
        http.close()
    return counts


def _can_be_wrong(operation):
    """Whether there is a body, or a parameter that not every text is valid for."""
    raw = operation.definition.raw
    own = [one["schema"] for one in raw.get("parameters", []) if one["in"] == "path"]
    free = all(schema.keys() <= {"type", "title"} and schema["type"] == "string" for schema in own)
    return "requestBody" in raw or len(own) < len(raw.get("parameters", [])) or not free


def _make_real(case, name):
    """Point a valid request at something that is there, so that it gets beyond the door."""
    if "name" in (case.path_parameters or {}) and not case.path.endswith("/stream"):
        # A stream of a study that is there never ends.
        case.path_parameters["name"] = NAME if case.method == "DELETE" else name
    if isinstance(case.body, dict):
        if "csv" in case.body:
            case.body |= {"csv": OPTIONS, "features": ["price"], "formula": None, "label": None}
            case.body |= {"unstructured": False} | ({"trials": 2} if "gap" in case.body else {})
        if "wait" in case.body:
            case.body["wait"] = 0.0  # waiting is tested elsewhere
        if case.path == "/api/v1/studies":
            case.body |= {"table": STUDY["table"], "problem": None}
            case.body |= {"algorithm": "pooled-peleg", "settings": {}}


def _finish(http):
    """A study that has an answer."""
    http.post("/api/v1/studies", json=STUDY | {"name": FINISHED})
    place = f"/api/v1/studies/{FINISHED}"
    while not (asked := http.post(f"{place}/ask", json={"n": 50}).json())["finished"]:
        rewards = [{"pull": pull["id"], "reward": float(pull["arm"])} for pull in asked["pulls"]]
        http.post(f"{place}/tell", json={"rewards": rewards})
