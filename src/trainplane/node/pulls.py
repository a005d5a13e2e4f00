"""Pulls: an image is there before a container is made of it, as the pull policy says; one that fails is tried later."""

from trainplane.control import clock
from trainplane.node.engine import Engine, Failed
from trainplane.node.runner import Image, NotStarted

PULL_FAILED, NEVER_PULLED, BACK_OFF = "ErrImagePull", "ErrImageNeverPull", "ImagePullBackOff"
FIRST, MOST = 10.0, 300.0
"""Seconds until a pull that failed is tried again: the first time, and at most."""
PATIENCE = 3600.0
"""Seconds that a pull may take."""


class Pulls:
    """Which images failed to come, and when they are tried again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._failed: dict[str, tuple[float, float, str]] = {}
        """By image: until when it is left alone, how long that is, and what the engine said."""

    async def get(self, image: Image) -> None:
        """Have an image here; raises NotStarted with the reason that the API has for it."""
        is_here = await self._engine.has_image(image.name)
        if is_here and image.pull != "Always":
            return
        if image.pull == "Never":
            message = f'Container image "{image.name}" is not present with pull policy of Never'
            raise NotStarted(NEVER_PULLED, f"{message}; load it into {self._engine.name}, or choose another policy")
        until, seconds, said = self._failed.get(image.name, (0.0, FIRST / 2, ""))
        if clock.seconds() < until:
            raise NotStarted(BACK_OFF, f'Back-off pulling image "{image.name}": {said}')
        try:
            await self._engine.ask("pull", "--quiet", image.name, patience=PATIENCE)
        except Failed as error:
            longer = min(seconds * 2, MOST)
            self._failed[image.name] = (clock.seconds() + longer, longer, str(error))
            raise NotStarted(PULL_FAILED, f'failed to pull the image "{image.name}": {error}') from error
        self._failed.pop(image.name, None)
