"""What `plimsoll ... --json` told (docs/json.md), for the checks next to this file."""
import json


def flat(text):
    """An answer in one dictionary: what it tells of the session, of its memory (measured before predicted), and of its model where it has one."""
    answer = json.loads(text)
    models, memory = answer.get("models", []), answer.get("memory")
    told = {} if memory is None else memory.get("measured") or memory.get("predicted") or {"device_bytes": None}
    return {**(models[0] if len(models) == 1 else {}), **answer, **told}
