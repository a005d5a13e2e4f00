"""How a story is told in another environment: each is played in turn, and what came of it is printed as JSON.

This file is read by the Python of that environment, which has nothing of ours.
"""

import json
import sys
import traceback


def play(*stories) -> None:
    """Play the stories in order; a failed one does not keep the others from being played."""
    outcomes = {}
    for story in stories:
        try:
            story()
        except Exception:  # noqa: BLE001 - whatever it is, the test on the other side shows it
            outcomes[story.__name__] = traceback.format_exc()
        else:
            outcomes[story.__name__] = ""
    json.dump(outcomes, sys.stdout)
