# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Every setting of a run, with the paper's value as the default.

Frozen dataclasses; a YAML file holds any subset of them, ``--set group.name=value``
overrides single ones. Unknown names and wrong types are refused by name; for a setting of
version 0.1 the message has its new name (:data:`RENAMED`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints, Literal

from lsiq_core.errors import ConfigError, problems
from lsiq_core.history import History
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
import yaml

_LARGEST_YAML = 1_000_000
_STRICT = ConfigDict(extra='forbid', use_attribute_docstrings=True)
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
    """One of the files in lsiq_core/learning/algorithms."""
    discount: Fraction = 0.99
    """The paper's gamma."""
    alpha: Fraction = 0.5
    """The paper's alpha: the expert's share in the mixture distribution (Eq. reg)."""
    c: Positive = 0.5
    """
    The paper's c: weight of the regulariser. It sets the rewards r_max = 1/(2 alpha c) and
    r_min = -1/(2 (1-alpha) c).
    """
    beta: NotNegative = 1e-3
    """The paper's beta: weight of the policy's entropy; the start value where it is tuned."""
    tune_beta: bool = False
    """Adapt beta towards an entropy of minus the action dimension, as SAC does."""
    inverse_operator: Literal['lsiq', 'iq'] = 'lsiq'
    """Absorbing states at their closed form (Eq. iq_inverse_operator), or IQ-Learn's zero."""
    clip_targets: bool = True
    """Clip the bootstrapped value to [Q_min, Q_max]."""
    fixed_expert_target: bool = True
    """Regress the expert's Q to Q_max (Eq. new_objective) instead of bootstrapping."""
    entropy_clipping: bool = True
    """Raise the entropy on expert states to the policy's running maximum (H and HC)."""
    policy_term: Literal['stored', 'fresh'] = 'stored'
    """Q of the replayed action (the paper's equation) or of a fresh action (the paper's code)."""

    @property
    def r_max(self) -> float:
        """Return the reward that expert samples are regressed to."""
        return 1.0 / (2.0 * self.alpha * self.c)

    @property
    def r_min(self) -> float:
        """Return the reward that policy samples are regressed to."""
        return -1.0 / (2.0 * (1.0 - self.alpha) * self.c)

    @property
    def q_max(self) -> float:
        """Return the value of earning ``r_max`` for ever (Eq. q_target)."""
        return self.r_max / (1.0 - self.discount)

    @property
    def q_min(self) -> float:
        """Return the value of earning ``r_min`` for ever."""
        return self.r_min / (1.0 - self.discount)


@dataclass(frozen=True, config=_STRICT)
class PolicyConfig:
    """Logarithms of the policy's deviation before the squashing, in units of action_gain."""

    log_std_min: float = -5.0
    """Smallest value."""
    log_std_max: float = 2.0
    """Largest value."""
    log_std_init: float = 0.0
    """Value at the start."""


@dataclass(frozen=True, config=_STRICT)
class CriticConfig:
    """The critics' architecture."""

    kind: Literal['mlp', 'residual'] = 'mlp'
    """Of ``networks.hidden`` layers (the paper), or residual blocks with layer norm."""
    layer_norm: bool = False
    """Layer norm in the hidden layers of the kind ``mlp``."""
    width: Count = 96
    """Width of the kind ``residual``; inside its blocks it is twice as wide."""
    blocks: Count = 2
    """Blocks of the kind ``residual``."""
    scale_values: bool = True
    """Multiply the output by Q_max, so that the network itself works near one."""


@dataclass(frozen=True, config=_STRICT)
class NetworkConfig:
    """The networks of policy and critics, and what goes into them."""

    hidden: tuple[Count, ...] = (256, 256)
    """Hidden layers of policy and critics."""
    action_gain: Positive = 1.0
    """
    Share of the action box that counts as one: the unit of the policy's mean and deviation, of
    mean penalty and exploration noise, and of the critics' inputs. Walking takes a fifth of a
    strong robot's torque; without this the networks see a fifth of an input.
    """
    normalise: Literal['none', 'expert'] = 'expert'
    """Observations as they are (the paper), or by mean and deviation of the expert's states."""
    observation_clip: Positive = 10.0
    """Normalised observations are clipped to plus and minus this."""
    privileged_terms: tuple[str, ...] = ()
    """
    Observation terms whose name contains one of these reach the inverse dynamics model alone.
    The actor mask hides them from policy and critics, and the exported policy does not ask for
    them.
    """
    history: History = History()
    policy: PolicyConfig = PolicyConfig()
    critic: CriticConfig = CriticConfig()


@dataclass(frozen=True, config=_STRICT)
class InverseDynamicsConfig:
    """The model that predicts the expert's unobserved actions (Eq. idm_loss)."""

    kind: Literal['mlp', 'residual'] = 'mlp'
    """Of ``hidden`` layers (the paper), or two residual blocks with layer norm."""
    hidden: tuple[Count, ...] = (256, 256)
    """Hidden layers of the kind ``mlp``."""
    width: Count = 96
    """Width of the kind ``residual``; inside its blocks it is twice as wide."""
    rate: Positive = 3e-4
    """Learning rate."""
    inputs: Literal['states', 'difference', 'multiscale'] = 'difference'
    """(s, s') as the paper has it; s and the scaled s' - s; that and its tanh at three scales."""
    window: bool | None = None
    """
    Also see the change before and the one after: where velocities are clipped, one change alone
    does not tell what an action did. None: where a third of the recorded Gym states are clipped.
    """
    online: bool = True
    """
    Go on training the model with the policy (the paper). Otherwise the expert's actions are
    found in the pretraining, by refinement or by the model, and stay.
    """
    batch: Count | None = None
    """Transitions of each of its updates while the policy trains. None: as the policy's batch."""
    babble_share: Share = 0.5
    """Share of babble in these batches, where there is any."""
    ema: Share = 0.0
    """
    Rate of the moving average of the model that predicts the expert's actions (0: the model
    itself). It goes on learning at a constant rate; the average does not tremble.
    """


@dataclass(frozen=True, config=_STRICT)
class BabbleConfig:
    """Motor babbling: bursts of smooth random torque, the inverse dynamics model's first data."""

    transitions: CountOrNone = 0
    """Transitions in all (0: none)."""
    burst: Count = 8
    """Steps of each burst; each begins with a reset."""
    quietest: Share = 0.0
    """0: bursts of any size; else each joint's size is log-uniform from this to full torque."""
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.7
    """Correlation of the torques of two steps in a row."""
    updates: CountOrNone = 0
    """Updates of the model on babble."""
    to_replay: CountOrNone = 0
    """
    How many of the transitions also start the replay, so that the critic sees other actions than
    the expert's at the expert's own states. They stay as long as ``collection.replay`` holds them
    and the run's own.
    """


@dataclass(frozen=True, config=_STRICT)
class PretrainingConfig:
    """What happens before the first step: for runs that predict actions, or babble to replay."""

    from_run: str | None = None
    """Run directory whose babble and refinement are taken over (none: the run makes its own)."""
    babble: BabbleConfig = BabbleConfig()
    refine: bool = False
    """
    Solve for the expert's actions in simulation. Only where a reset to a recorded state is exact;
    a run that finds it is not leaves it out, and cloning with it.
    """


@dataclass(frozen=True, config=_STRICT)
class CloningConfig:
    """Behavioural cloning beside or before the algorithm, where actions are known or predicted."""

    weight: NotNegative = 0.0
    """Weight of the mode's squared distance from expert actions in the actor's loss."""
    huber_delta: Positive | None = None
    """
    A distance beyond this counts linearly instead of squared, for predicted actions that may be
    wrong; in units of networks.action_gain, as all distances of cloning are.
    """
    pretrain_updates: CountOrNone = 0
    """Updates of cloning alone before the first step."""
    pretrain_rate: Positive = 1e-3
    """Adam's learning rate in those; it sinks to a twentieth on the way."""


@dataclass(frozen=True, config=_STRICT)
class GailConfig:
    """GAIL's discriminator."""

    hidden: tuple[Count, ...] = (512, 256)
    """Hidden layers."""
    gradient_penalty: NotNegative = 10.0
    """Weight of the squared distance of its slope from one (0: as the original)."""


@dataclass(frozen=True, config=_STRICT)
class VailConfig:
    """VAIL's information bottleneck."""

    hidden: tuple[Count, ...] = (256, 128)
    """Hidden layers of the encoder."""
    latent: Count = 128
    """Numbers in the code z."""
    information: Positive = 0.5
    """I_c, nats of z that the discriminator may see."""
    bottleneck_weight: NotNegative = 0.1
    """The constraint's multiplier at the start."""
    dual_rate: Positive = 1e-5
    """How fast the multiplier moves."""


@dataclass(frozen=True, config=_STRICT)
class DiscriminatorConfig:
    """The learned reward of GAIL and VAIL."""

    rate: Positive = 3e-4
    """Learning rate."""
    gail: GailConfig = GailConfig()
    vail: VailConfig = VailConfig()


@dataclass(frozen=True, config=_STRICT)
class OptimisationConfig:
    """How the networks move."""

    critic_rate: Positive = 3e-4
    """Adam's learning rate of the critics."""
    actor_rate: Positive = 3e-5
    """Adam's learning rate of the policy."""
    actor_decay: Share = 1.0
    """The actor's rate falls linearly to this share of itself over the run."""
    beta_rate: Positive = 3e-4
    """Adam's learning rate of a tuned beta."""
    target_rate: Fraction = 0.005
    """tau of the target networks, every update."""
    policy_ema: Share = 0.0
    """
    Evaluate and export an exponential moving average of the policy that moves by this much each
    update (0: the policy itself).
    """
    policy_window: Share = 0.0
    """
    Let that average reach back over about this share of the updates so far (0: as policy_ema
    says). A policy that swings does so for some thousand updates.
    """
    mean_penalty: NotNegative = 0.0
    """Weight of the squared pre-tanh mean in the actor's loss, in units of Q_max."""
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
    Deviation of extra noise on the sampled actions of the last simulation, in units of
    networks.action_gain; the others get less, the first none. A policy that repeats itself
    teaches the inverse dynamics nothing.
    """
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Laid over the run's task_options for training alone: harder starts, varied worlds."""
    randomise: bool = True
    """
    Train in the worlds of the robot file's ``randomisation``, where it has any; babble and
    evaluation are in the world of the MJCF. The expert's states get the same sensor errors,
    unless the file says what the expert's own sensors said.
    """
    max_episode_steps: Count | None = None
    """
    Cut episodes after so many steps, but for the first quarter of the simulations, which explore
    least. A policy that walks for ever would show the learner few beginnings, and one that is
    always cut would not show what comes later.
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
    """Name of the task, for example Hopper-v5, point_mass, or the name of a robot."""
    seed: CountOrNone = 0
    """Seeds everything."""
    observations_only: bool = False
    """Ignore expert actions and predict them with the inverse dynamics model."""
    unseen_actions: Literal['idm', 'policy'] = 'idm'
    """Who fills in ignored actions: the inverse dynamics, or the policy itself (IQ-Learn)."""
    device: Literal['auto', 'cpu', 'cuda'] = 'auto'
    """Where the learner's tensors lie, its replay's too; auto is CUDA where torch finds it."""
    compile: Literal['auto', 'always', 'never'] = 'auto'
    """
    Compile the update; auto falls back to eager where there is no C++ compiler, or on CUDA no
    Triton.
    """
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Passed to the task's constructor."""
    algorithm: AlgorithmConfig = AlgorithmConfig()
    networks: NetworkConfig = NetworkConfig()
    idm: InverseDynamicsConfig = InverseDynamicsConfig()
    pretraining: PretrainingConfig = PretrainingConfig()
    bc: CloningConfig = CloningConfig()
    discriminator: DiscriminatorConfig = DiscriminatorConfig()
    optimisation: OptimisationConfig = OptimisationConfig()
    collection: CollectionConfig = CollectionConfig()
    report: ReportConfig = ReportConfig()


RENAMED = {
    'algorithm.mixing': 'algorithm.alpha',
    'algorithm.regulariser': 'algorithm.c',
    'algorithm.temperature': 'algorithm.beta',
    'algorithm.tune_temperature': 'algorithm.tune_beta',
    'networks.critic_layer_norm': 'networks.critic.layer_norm',
    'networks.scale_values': 'networks.critic.scale_values',
    'networks.log_std_min': 'networks.policy.log_std_min',
    'networks.log_std_max': 'networks.policy.log_std_max',
    'networks.log_std_init': 'networks.policy.log_std_init',
    'networks.blind_to': 'networks.privileged_terms',
    'idm.babble_transitions': 'pretraining.babble.transitions',
    'idm.babble_burst': 'pretraining.babble.burst',
    'idm.babble_quietest': 'pretraining.babble.quietest',
    'idm.babble_updates': 'pretraining.babble.updates',
    'idm.babble_to_replay': 'pretraining.babble.to_replay',
    'idm.rehearsals': 'pretraining.refine',
    'idm.prepared': 'pretraining.from_run',
    'discriminator.hidden': 'discriminator.gail.hidden',
    'discriminator.gradient_penalty': 'discriminator.gail.gradient_penalty',
    'discriminator.encoder': 'discriminator.vail.hidden',
    'discriminator.latent': 'discriminator.vail.latent',
    'discriminator.information': 'discriminator.vail.information',
    'discriminator.bottleneck_weight': 'discriminator.vail.bottleneck_weight',
    'discriminator.dual_rate': 'discriminator.vail.dual_rate',
    'optimisation.temperature_rate': 'optimisation.beta_rate',
    'optimisation.policy_average': 'optimisation.policy_ema',
    'optimisation.cloning': 'bc.weight',
    'optimisation.cloning_outlier': 'bc.huber_delta',
    'optimisation.clone_first': 'bc.pretrain_updates',
    'optimisation.clone_rate': 'bc.pretrain_rate',
    'collection.longest_episode': 'collection.max_episode_steps',
}
"""Settings of version 0.1 by their dotted name, and what they are called now."""

_ROUNDS = 'is gone: pretraining.refine=true solves for the actions, without rounds of guesses'
GONE = {
    'idm.rehearsed': _ROUNDS,
    'idm.rehearsal_updates': _ROUNDS,
    **{f'pretraining.refinement.{key}': _ROUNDS for key in ('method', 'rounds', 'transitions')},
    'pretraining.refinement.updates': _ROUNDS,
}
"""Settings that there were, and why there are none of them."""


def convert(values: dict[str, Any]) -> dict[str, Any]:
    """Return settings of version 0.1 under their present names; present ones are left alone."""
    converted: dict[str, Any] = {}
    for name, value in leaves(values):
        if name.endswith('task_options'):
            value = {{'spec': 'observation'}.get(key, key): item for key, item in value.items()}
        if name in GONE:
            continue
        if name == 'idm.rehearsals':  # was a number of rounds
            value = bool(value)
        converted = merge(converted, _nested(RENAMED.get(name, name), value))
    return converted


def leaves(values: dict[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield every setting with its dotted name; the options of a task are one setting."""
    for key, value in values.items():
        if isinstance(value, dict) and key != 'task_options':
            yield from leaves(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def _nested(name: str, value: Any) -> dict[str, Any]:
    for part in reversed(name.split('.')):
        value = {part: value}
    nested: dict[str, Any] = value
    return nested


def from_dict(values: dict[str, Any], *, where: str = 'config') -> RunConfig:
    """Build a config, naming every setting that does not fit."""
    renamed = [name for name, _ in leaves(values) if name in RENAMED]
    if renamed:
        found = '; '.join(f'{name} is called {RENAMED[name]}' for name in renamed)
        raise ConfigError(f'{where}: since version 0.2 {found}')
    gone = [name for name, _ in leaves(values) if name in GONE]
    if gone:
        raise ConfigError(f'{where}: ' + '; '.join(f'{name} {GONE[name]}' for name in gone))
    try:
        return TypeAdapter(RunConfig).validate_python(values)
    except ValidationError as error:
        raise ConfigError(f'{where}: {problems(error)}') from error


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
    return _nested(name, value)


def _number(text: str) -> Any:
    """Read ``1e-3``, which YAML takes for a word."""
    try:
        return float(text)
    except ValueError:
        return text


def describe(kind: type = RunConfig, prefix: str = '') -> dict[str, str]:
    """Return every setting by its dotted name with its documentation."""
    lines: dict[str, str] = {}
    hints = get_type_hints(kind)
    for item in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(hints[item.name]):
            lines |= describe(hints[item.name], f'{prefix}{item.name}.')
        else:
            about = kind.__pydantic_fields__[item.name].description  # type: ignore[attr-defined]
            lines[f'{prefix}{item.name}'] = ' '.join((about or '').split())
    return lines
