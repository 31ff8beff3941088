"""`--data.KEY VALUE` of the verbs that read a data set: the keys of a recipe's data section."""

from collections.abc import Collection, Sequence

from groupwise.config import build, override, parse_overrides
from groupwise.errors import ConfigError, did_you_mean
from groupwise.recipe import DataConfig


def data_settings(file: str | None, rest: Sequence[str], *, takes: Collection[str], **given: object) -> DataConfig:
    """The data section that names this file, or the task in `given` where it is None, with the settings given.

    ConfigError for a setting that `takes` lacks.
    """
    asked = parse_overrides(rest)
    for name in asked:
        section, _, key = name.partition(".")
        if section != "data" or key.partition(".")[0] not in takes:
            raise ConfigError(f"--{name} is no setting of this verb.{did_you_mean(name, [f'data.{k}' for k in takes])}")
    return build(DataConfig, override({"data": {"path": file, **given}}, asked)["data"], "data")
