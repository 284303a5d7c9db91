# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Every setting of a run, with the paper's value as the default.

Frozen dataclasses; a YAML file holds any subset of them, ``--set group.name=value``
overrides single ones. Unknown names and wrong types are refused by name.
"""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints, Literal

from lsiq_core.errors import ConfigError
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
import yaml

_LARGEST_YAML = 1_000_000
_STRICT = ConfigDict(extra='forbid')
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, config=_STRICT)
class AlgorithmConfig:
    """What is learned: the objective and each of the paper's techniques as a switch."""

    name: str = 'lsiq'
    """One of the files in lsiq_core/algorithms."""
    discount: Fraction = 0.99
    """gamma."""
    mixing: Fraction = 0.5
    """alpha, the expert's share in the mixture distribution (Eq. reg)."""
    regulariser: Positive = 0.5
    """c, sets the rewards r_max = 1/(2 alpha c) and r_min = -1/(2 (1-alpha) c)."""
    temperature: NotNegative = 1e-3
    """beta, weight of the policy's entropy; the start value where it is tuned."""
    tune_temperature: bool = False
    """Adapt beta towards an entropy of minus the action dimension, as SAC does."""
    inverse_operator: Literal['lsiq', 'iq'] = 'lsiq'
    """Absorbing states at their closed form (Eq. iq_inverse_operator), or IQ-Learn's zero."""
    clip_targets: bool = True
    """Clip the bootstrapped value to [Q_min, Q_max]."""
    fixed_expert_target: bool = True
    """Regress the expert's Q to Q_max (Eq. new_objective) instead of bootstrapping."""
    entropy_clipping: bool = True
    """Raise the entropy bonus on expert states to the policy's running maximum (H and HC)."""
    policy_term: Literal['stored', 'fresh'] = 'stored'
    """Q of the replayed action (the paper's equation) or of a fresh action (the paper's code)."""

    @property
    def r_max(self) -> float:
        """Return the reward that expert samples are regressed to."""
        return 1.0 / (2.0 * self.mixing * self.regulariser)

    @property
    def r_min(self) -> float:
        """Return the reward that policy samples are regressed to."""
        return -1.0 / (2.0 * (1.0 - self.mixing) * self.regulariser)

    @property
    def q_max(self) -> float:
        """Return the value of earning ``r_max`` for ever (Eq. q_target)."""
        return self.r_max / (1.0 - self.discount)

    @property
    def q_min(self) -> float:
        """Return the value of earning ``r_min`` for ever."""
        return self.r_min / (1.0 - self.discount)


@dataclass(frozen=True, config=_STRICT)
class NetworkConfig:
    """The shapes of the networks."""

    hidden: tuple[Count, ...] = (256, 256)
    """Hidden layers of actor and critics."""
    critic_layer_norm: bool = False
    """Layer norm in the critics."""
    scale_values: bool = True
    """Multiply the critic's output by Q_max, so that the network itself works near one."""
    log_std_min: float = -5.0
    """Floor of the policy's log standard deviation."""
    log_std_max: float = 2.0
    """Ceiling of the policy's log standard deviation."""
    log_std_init: float = 0.0
    """Where the policy's log standard deviation starts."""
    action_gain: Positive = 1.0
    """
    Share of the action box that counts as one inside actor and critics. Walking takes a fifth
    of a strong robot's torque; without this the networks see a fifth of an input.
    """
    normalise: Literal['none', 'expert'] = 'expert'
    """Observations as they are (the paper), or by mean and deviation of the expert's states."""
    blind_to: tuple[str, ...] = ()
    """Terms named like one of these reach the inverse dynamics model alone, not the policy."""
    observation_clip: Positive = 10.0
    """Normalised observations are clipped to plus and minus this."""


@dataclass(frozen=True, config=_STRICT)
class InverseDynamicsConfig:
    """The model that predicts the expert's unobserved actions (Eq. idm_loss)."""

    hidden: tuple[Count, ...] = (256, 256)
    """Hidden layers."""
    rate: Positive = 3e-4
    """Learning rate."""
    inputs: Literal['states', 'difference', 'multiscale'] = 'difference'
    """(s, s') as the paper has it; s and the scaled s' - s; that and its tanh at three scales."""
    babble_transitions: CountOrNone = 0
    """Transitions of smooth random torque from expert states before training (0: none)."""
    babble_burst: Count = 8
    """Steps of each burst of babble."""
    babble_quietest: Share = 0.0
    """0: bursts of any size; else each joint's size is log-uniform from this to full torque."""
    babble_updates: CountOrNone = 0
    """Updates of the model on babble before training."""
    babble_share: Share = 0.5
    """Share of babble in the model's batches afterwards, where there is any."""
    babble_to_replay: CountOrNone = 0
    """How many babble transitions also start the replay, which holds as many as the run has steps
    (or ``collection.replay``): the run's own push them out, first in, first out."""
    rehearsals: CountOrNone = 0
    """Rounds, after the babble, of trying guessed expert actions in simulation (0: none)."""
    rehearsed: Count = 20_000
    """Expert transitions that each rehearsal tries: those whose best try missed most."""
    rehearsal_updates: CountOrNone = 2_000
    """Updates of the model after each rehearsal."""
    prepared: str | None = None
    """Run directory whose babble and rehearsals are taken over (none: its own)."""
    online: bool = True
    """
    Go on training the model with the policy (the paper). Otherwise the expert's actions are
    found before training, as the rehearsals or the model have it, and stay.
    """


@dataclass(frozen=True, config=_STRICT)
class DiscriminatorConfig:
    """The learned reward of GAIL and VAIL."""

    hidden: tuple[Count, ...] = (512, 256)
    """Hidden layers of GAIL's discriminator."""
    rate: Positive = 3e-4
    """Learning rate."""
    gradient_penalty: NotNegative = 10.0
    """GAIL: weight of the squared distance of its slope from one (0: as the original)."""
    encoder: tuple[Count, ...] = (256, 128)
    """VAIL: hidden layers of the encoder."""
    latent: Count = 128
    """VAIL: numbers in the code z."""
    information: Positive = 0.5
    """VAIL: I_c, nats of z that the discriminator may see."""
    bottleneck_weight: NotNegative = 0.1
    """VAIL: the constraint's multiplier at the start."""
    dual_rate: Positive = 1e-5
    """VAIL: how fast the multiplier moves."""


@dataclass(frozen=True, config=_STRICT)
class OptimisationConfig:
    """How the networks move."""

    critic_rate: Positive = 3e-4
    """Adam's learning rate of the critics."""
    actor_rate: Positive = 3e-5
    """Adam's learning rate of the policy."""
    temperature_rate: Positive = 3e-4
    """Adam's learning rate of a tuned temperature."""
    actor_decay: Share = 1.0
    """The actor's rate falls linearly to this share of itself over the run."""
    target_rate: Fraction = 0.005
    """tau of the target networks, every update."""
    policy_average: Share = 0.0
    """Evaluate an average of the policy that moves by this much each update (0: the policy)."""
    mean_penalty: NotNegative = 0.0
    """Weight of the squared pre-tanh mean in the actor's loss, in units of Q_max."""
    cloning: NotNegative = 0.0
    """Weight of the mode's squared distance from expert actions, known or predicted."""
    cloning_outlier: Positive | None = None
    """
    A distance beyond this counts linearly instead of squared, for actions that were found and may
    be wrong; in units of networks.action_gain, as all distances of cloning are.
    """
    clone_first: CountOrNone = 0
    """Updates of cloning alone before the first step, where actions are known or predicted."""
    clone_rate: Positive = 1e-3
    """Adam's learning rate in those; it sinks to a twentieth on the way."""
    expert_batch: Count = 256
    """Expert transitions in an update."""
    policy_batch: Count = 256
    """Policy transitions in an update."""
    updates_per_step: Positive = 1.0
    """Updates for each environment step, over all simulations."""


@dataclass(frozen=True, config=_STRICT)
class CollectionConfig:
    """How experience is gathered."""

    steps: Count = 500_000
    """Environment steps of the whole run, over all simulations."""
    simulations: Count = 1
    """Simulations that feed the learner."""
    replay: Count = 1_000_000
    """Transitions the replay holds."""
    critic_start: CountOrNone = 10_000
    """Environment steps before the first critic update."""
    actor_start: CountOrNone = 15_000
    """Environment steps before the first actor update."""
    exploration_noise: NotNegative = 0.0
    """
    Deviation of extra noise on the sampled actions of the last simulation; the others get
    less, the first none. A policy that repeats itself teaches the inverse dynamics nothing.
    """
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Laid over the run's task_options for training alone: harder starts, varied worlds."""
    longest_episode: Count | None = None
    """
    Cut episodes after so many steps. A policy that walks for ever would show the learner few
    beginnings, and beginnings are where it falls.
    """
    reset_to_expert: Share = 0.0
    """Share of the simulations that start episodes at expert states; babble then does, too."""


@dataclass(frozen=True, config=_STRICT)
class ReportConfig:
    """What is measured and kept along the way."""

    evaluate_every: Count = 10_000
    """Environment steps between evaluations."""
    evaluation_episodes: Count = 10
    """Deterministic episodes of an evaluation; as many stochastic ones in the final one."""
    log_every: Count = 1_000
    """Environment steps between metric lines."""
    checkpoint_every: Count = 20_000
    """Environment steps between checkpoints."""
    stop_at: float | None = None
    """End the run once the normalised return has reached this in two evaluations running."""


@dataclass(frozen=True, config=_STRICT)
class RunConfig:
    """One training run."""

    task: str
    """Name of the task, for example Hopper-v5, point_mass or atlas."""
    seed: CountOrNone = 0
    """Seeds everything."""
    observations_only: bool = False
    """Ignore expert actions and predict them with the inverse dynamics model."""
    unseen_actions: Literal['idm', 'policy'] = 'idm'
    """Who fills in ignored actions: the inverse dynamics, or the policy itself (IQ-Learn)."""
    compile: Literal['auto', 'always', 'never'] = 'auto'
    """Compile the update; auto falls back to eager where there is no C++ compiler."""
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Passed to the task's constructor."""
    algorithm: AlgorithmConfig = AlgorithmConfig()
    networks: NetworkConfig = NetworkConfig()
    idm: InverseDynamicsConfig = InverseDynamicsConfig()
    discriminator: DiscriminatorConfig = DiscriminatorConfig()
    optimisation: OptimisationConfig = OptimisationConfig()
    collection: CollectionConfig = CollectionConfig()
    report: ReportConfig = ReportConfig()


def from_dict(values: dict[str, Any], *, where: str = 'config') -> RunConfig:
    """Build a config, naming every setting that does not fit."""
    try:
        return TypeAdapter(RunConfig).validate_python(values)
    except ValidationError as error:
        problems = '; '.join(
            f'{".".join(map(str, problem["loc"]))}: {problem["msg"]}, found {problem["input"]!r}'
            for problem in error.errors()
        )
        raise ConfigError(f'{where}: {problems}') from error


def to_dict(config: RunConfig) -> dict[str, Any]:
    """Return the config as plain data."""
    return asdict(config)  # type: ignore[call-overload]


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a config file, which must hold a mapping; neither its size nor its depth is trusted."""
    try:
        with path.open(encoding='utf-8') as file:
            text = file.read(_LARGEST_YAML + 1)
        if len(text) > _LARGEST_YAML:
            raise ConfigError(f'{path}: longer than {_LARGEST_YAML} characters')
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            # Ten aliases of ten aliases ... are short to write and endless to read.
            raise ConfigError(f'{path}: has an alias (*name); write the settings out')
        values = yaml.safe_load(text)
    except RecursionError as error:
        raise ConfigError(f'{path}: nested too deeply') from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path}: cannot be read ({error})') from error
    except yaml.YAMLError as error:
        raise ConfigError(f'{path}: not YAML ({error})') from error
    if not isinstance(values, dict):
        raise ConfigError(f'{path}: expected settings by name, found {type(values).__name__}')
    return values


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the settings of ``over`` laid on top, group by group."""
    merged = dict(base)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            value = merge(merged[name], value)
        merged[name] = value
    return merged


def override(assignment: str) -> dict[str, Any]:
    """Turn ``group.name=value`` into nested settings; the value is read as YAML."""
    name, equals, text = assignment.partition('=')
    if not equals or not name:
        raise ConfigError(f'--set {assignment}: expected group.name=value')
    try:
        value: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f'--set {assignment}: {text!r} is not YAML') from error
    if isinstance(value, str):
        value = _number(value)
    for part in reversed(name.split('.')):
        value = {part: value}
    return value  # type: ignore[no-any-return]


def _number(text: str) -> Any:
    """Read ``1e-3``, which YAML takes for a word."""
    try:
        return float(text)
    except ValueError:
        return text


def describe(kind: type = RunConfig, prefix: str = '') -> dict[str, str]:
    """Return every setting by its dotted name with its documentation."""
    docs = _field_docs(kind)
    lines: dict[str, str] = {}
    hints = get_type_hints(kind)
    for item in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(hints[item.name]):
            lines |= describe(hints[item.name], f'{prefix}{item.name}.')
        else:
            lines[f'{prefix}{item.name}'] = docs.get(item.name, '')
    return lines


def _field_docs(kind: type) -> dict[str, str]:
    """Read the docstrings that stand below the fields."""
    import ast
    import inspect
    import textwrap

    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    docs = {}
    for item, following in zip(body, body[1:]):
        is_field = isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        if (
            is_field
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            docs[item.target.id] = str(following.value.value)
    return docs
