"""The table of chores: every controller that a cluster of our own needs besides those of jobs and of scheduling."""

from trainplane.reconcile.controller import Controller
from trainplane.upkeep.aggregation import AGGREGATION
from trainplane.upkeep.autoscale import AUTOSCALE
from trainplane.upkeep.claims import CLAIMS
from trainplane.upkeep.endpoints import ENDPOINT_SLICES, ENDPOINTS
from trainplane.upkeep.ephemeral import EPHEMERAL
from trainplane.upkeep.eviction import EVICTION
from trainplane.upkeep.garbage import garbage
from trainplane.upkeep.history import HISTORY
from trainplane.upkeep.namespaces import NAMESPACES
from trainplane.upkeep.node_health import NODE_HEALTH
from trainplane.upkeep.queue_status import QUEUE_STATUS
from trainplane.upkeep.quota_status import QUOTA_STATUS
from trainplane.upkeep.ttl import TTL

UPKEEP: tuple[Controller, ...] = (
    garbage(),
    *TTL,
    NAMESPACES,
    CLAIMS,
    EPHEMERAL,
    NODE_HEALTH,
    EVICTION,
    AUTOSCALE,
    QUOTA_STATUS,
    QUEUE_STATUS,
    AGGREGATION,
    ENDPOINT_SLICES,
    ENDPOINTS,
    HISTORY,
)
