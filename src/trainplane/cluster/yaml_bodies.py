"""Bodies of requests in YAML, read into objects; loaded with the first of them, because most clients send JSON."""

from typing import Any

import orjson
import yaml

from trainplane.cluster.bodies import Body, NotReadable

MAX_NODES = 500_000
"""How many values a body may hold once its aliases are written out."""
_WHOLE = 2**63


def read_yaml(data: bytes) -> Body:
    """Read the first YAML document; of keys that are written twice the last counts. Raises NotReadable."""
    lines: list[str] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotReadable("yaml: invalid UTF-8") from None
    loader = _Loader(text)
    try:
        loader.lines = lines
        value = loader.get_data()
        if _size(value) > MAX_NODES:
            raise NotReadable("yaml: document contains excessive aliasing")
        # JSON and back: keys that are numbers become text, and aliases become copies.
        return Body(orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)), lines=lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line}: " if mark and mark.line else ""
        raise NotReadable(f"yaml: {line}{error.problem or 'could not be read'}") from None
    except (yaml.YAMLError, orjson.JSONEncodeError, orjson.JSONDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, NotReadable):
            raise
        raise NotReadable("yaml: could not be read") from None
    finally:
        loader.dispose()


class _Loader(yaml.CSafeLoader):
    """A loader that keeps times as text, reads 80.0 as 80 and notes keys that are there already."""

    lines: list[str]

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """One mapping."""
        if isinstance(node, yaml.MappingNode):
            self.flatten_mapping(node)
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        self.lines.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
                    seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_yaml_float(self, node: Any) -> float:
        """One number: a whole one is written as such in the JSON that the API server makes of YAML."""
        value: float = super().construct_yaml_float(node)
        return int(value) if value.is_integer() and abs(value) < _WHOLE else value


_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)

_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _size(value: Any, budget: int = MAX_NODES) -> int:
    """How many values there are, as far as the budget."""
    count, waiting = 0, [value]
    while waiting and count <= budget:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return count
