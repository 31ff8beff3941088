"""Judge on the machines of a Ray cluster: `rewards.workers: ray`."""

from collections.abc import Mapping, Sequence
from typing import Any

from groupwise.errors import ConfigError, MissingExtra
from groupwise.rewards.call import Judgement
from groupwise.rewards.pool import Lost, Pool, Setup

MOST = 256  # workers; each has a thread here that waits for it
START_S = 600.0  # for a place in the cluster, and for a reward of your own to import what it needs


def ray_pool(setup: Setup) -> Pool:
    """A pool with a worker for each processor of the cluster that this process is in, or may join.

    Each is an actor with a worker process of its own, so that limits and kills are those of one machine; one whose
    machine is lost is started elsewhere, and its judgement is made again. `groupwise` must be installed on
    all machines, and a reward's file lie at the same path. Raises MissingExtra without the package ray, ConfigError
    where there is no cluster to join.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray", "rewards.workers = 'ray'") from error
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError as error:
            raise ConfigError(
                "rewards.workers = 'ray': there is no Ray cluster to join; start one with `ray start --head`, or give "
                "a number of workers on this machine"
            ) from error
    count = int(ray.cluster_resources().get("CPU", 0))
    if count < 1:
        raise ConfigError("rewards.workers = 'ray': the cluster has no processors; add machines to it")
    return Pool(setup, workers=min(MOST, count), start=RemoteWorker)


class RemoteWorker:
    """A worker somewhere in the cluster."""

    def __init__(self, setup: Setup) -> None:
        import ray

        remote: Any = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_Local)
        self.ray, self.actor, self.limit_s = ray, remote.remote(setup), setup.timeout_s
        try:
            ray.get(self.actor.ready.remote(), timeout=START_S)
        except ray.exceptions.RayTaskError as error:
            self.kill()
            raise ConfigError(str(error.cause)) from error

    def judge(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[Judgement]:
        """A judgement of each text. Raises Lost if the machine is gone."""
        limit = None if self.limit_s is None else 2 * self.limit_s * len(texts) + START_S  # the limit itself is there
        try:
            found: Sequence[Judgement] = self.ray.get(self.actor.judge.remote(list(rows), list(texts)), timeout=limit)
            return found
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.GetTimeoutError) as error:
            self.kill()
            raise Lost(f"the machine that judged is gone: {error}", again=True) from error

    def kill(self) -> None:
        """End the actor, and its process with it."""
        self.ray.kill(self.actor)


class _Local:
    """What runs on the machine: a pool of one."""

    def __init__(self, setup: Setup) -> None:
        self.pool = Pool(setup, workers=1)

    def ready(self) -> str:
        """Whether the reward can be made there."""
        self.pool.submit([], []).result()
        return self.node()

    def node(self) -> str:
        """Where it is."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def judge(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Sequence[Judgement]:
        return self.pool.submit(rows, texts).result().judgements
