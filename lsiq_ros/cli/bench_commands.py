# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq bench``: speed beside a reference."""

from dataclasses import asdict
import json
from pathlib import Path
import signal
from typing import Annotated

from lsiq_core.errors import ConfigError
import typer

Json = Annotated[bool, typer.Option('--json', help='Print one JSON object as the last line.')]
Robot = Annotated[str, typer.Option(help='By name or path.')]


def learner(
    rounds: Annotated[int, typer.Option(help='How often update and reference take turns.')] = 15,
    robot: Robot = 'atlas',
    json_: Json = False,
) -> None:
    """
    Time one LS-IQ update at the size of a robot beside the machine's matrix products.

    One thread, CPU time, medians. The ratio says how many times longer the update takes than
    its matrix products alone would at full speed. A first run compiles for about a minute.
    """
    from lsiq_ros.benchmarks.learner_update import bench_learner

    figures = bench_learner(robot, rounds)
    for name, value in figures.items():
        typer.echo(f'{name:>28}  {value if isinstance(value, str) else format(value, ".3g")}')
    if json_:
        typer.echo(json.dumps(figures))


def learning(
    tasks: Annotated[
        str, typer.Option(help='Tasks, separated by commas.')
    ] = 'Hopper-v5,Ant-v5,HalfCheetah-v5',
    minutes: Annotated[float, typer.Option(help='Of each run, on one core.')] = 10.0,
    seeds: Annotated[int, typer.Option(help='Runs of each task.', min=1)] = 3,
    demos: Annotated[
        Path | None, typer.Option(help='Directory with TASK.npz; point_mass needs none.')
    ] = None,
    episodes: Annotated[int, typer.Option(help='Demonstrations of each task.', min=1)] = 5,
    observations_only: Annotated[
        bool, typer.Option('--observations-only', help='From states alone.')
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option('--set', help='Override one setting. Repeatable.')
    ] = None,
    out: Annotated[
        Path, typer.Option(help='Directory of the runs; what is in it goes on.')
    ] = Path('runs/learning'),
    json_: Json = False,
) -> None:
    """
    Measure learning per minute: the mean of the normalised return over the first minutes.

        lsiq bench learning --tasks Hopper-v5 --demos ../shared/demos --minutes 5 --seeds 3

    Stopped with Ctrl-C it goes on where it was, with the same command.
    """
    from lsiq_core.report.statistics import bootstrap
    from lsiq_ros.benchmarks.learning import bench_learning
    from lsiq_ros.runs.driver import noted
    import numpy as np

    if minutes <= 0:
        raise ConfigError(f'--minutes {minutes:g}: expected more than none')
    wanted = tasks.split(',')
    with noted(signal.SIGINT, signal.SIGTERM) as signals:
        found = bench_learning(
            wanted,
            range(seeds),
            minutes,
            out,
            demos=demos,
            episodes=episodes,
            observations_only=observations_only,
            settings=set_ or (),
            stopped=lambda: bool(signals),
            log=typer.echo,
        )
    for each in found:
        typer.echo(
            f'{each.task:>16}  seed {each.seed}  area {each.area:.3f}  last {each.last:.3f}  '
            f'{each.evaluations} evaluations'
        )
    for task in wanted:
        areas = np.array([each.area for each in found if each.task == task])
        if len(areas):
            middle = bootstrap(areas)
            typer.echo(
                f'{task:>16}  {len(areas)} seeds  interquartile mean {middle.value:.3f} '
                f'({middle.low:.3f} to {middle.high:.3f})'
            )
    if json_:
        typer.echo(json.dumps([each._asdict() for each in found]))


def loop(
    policy: Annotated[
        Path | None, typer.Argument(help='A policy file: measure its control loop instead.')
    ] = None,
    exchanges: Annotated[int, typer.Option(help='Lock-step exchanges to time.', min=100)] = 5000,
    robot: Robot = 'atlas',
    json_: Json = False,
) -> None:
    """
    Measure lock-step over topics: exchanges per second, and what they cost a training step.

    The training is timed over topics and in process in turns; the ratio of medians counts.
    With a policy file this is ``lsiq bench control-loop``: the loop that drives a robot.
    """
    if policy is not None:
        control_loop(policy, json_=json_)
        return
    from lsiq_ros.benchmarks.lockstep import lockstep_rate, ROBOTS, STILL
    from lsiq_ros.benchmarks.training import training_cost

    still, simulated = lockstep_rate(STILL, exchanges), lockstep_rate(robot, exchanges)
    many = lockstep_rate(STILL, exchanges, ROBOTS)
    cost = training_cost(robot)
    figures = {
        **{f'exchange_{name}': value for name, value in still._asdict().items()},
        **{f'robots_{name}': value for name, value in many._asdict().items()},
        **{f'{robot}_{name}': value for name, value in simulated._asdict().items()},
        **{f'training_{name}': value for name, value in cost._asdict().items()},
    }
    for name, value in figures.items():
        typer.echo(f'{name:>32}  {value if isinstance(value, str) else format(value, ".4g")}')
    if json_:
        typer.echo(json.dumps(figures))


def policy(
    file: Annotated[Path, typer.Argument(metavar='POLICY', help='The policy file.')],
    calls: Annotated[int, typer.Option(help='Of each kind.', min=100)] = 20_000,
    json_: Json = False,
) -> None:
    """Measure inference alone, and gate and inference together, in microseconds."""
    from lsiq_core.policy.artifact import verify as verify_policy
    from lsiq_ros.benchmarks.policy import bench_policy

    found = verify_policy(file)
    results = bench_policy(found.policy, calls)
    for name, timing in results.items():
        typer.echo(f'{name:<20} {timing.line()}')
    if json_:
        typer.echo(json.dumps({name: asdict(timing) for name, timing in results.items()}))


def control_loop(
    file: Annotated[Path, typer.Argument(metavar='POLICY', help='The policy file.')],
    rates: Annotated[str, typer.Option(help='Rates in Hz, separated by commas.')] = '100,500,1000',
    seconds: Annotated[float, typer.Option(help='Of each rate.', min=1)] = 10.0,
    realtime_priority: Annotated[
        int, typer.Option(help='SCHED_FIFO of this loop and of the bare one.', min=0, max=99)
    ] = 0,
    json_: Json = False,
) -> None:
    """
    Measure the control loop over real topics, beside a bare sleep-until loop.

    A robot in another process publishes states at the rate; the loop answers each of them
    through policy and gate. The bare loop runs at the same time in a third process.
    """
    from lsiq_core.policy.artifact import verify as verify_policy
    from lsiq_ros.benchmarks.loop import bench_loop

    found = verify_policy(file)
    try:
        wanted = [float(rate) for rate in rates.split(',')]
    except ValueError:
        raise ConfigError(f'--rates {rates}: expected numbers separated by commas') from None
    report = {}
    for rate_hz in wanted:
        result = bench_loop(found.policy, rate_hz, seconds, realtime_priority)
        report[f'{rate_hz:g}'] = asdict(result)
        typer.echo(result.text())
    if json_:
        typer.echo(json.dumps(report))


def sim(
    robot: Robot = 'atlas',
    observation: Annotated[
        str, typer.Option(help='Terms by name: kinematic, full, paper.')
    ] = 'kinematic',
    json_: Json = False,
) -> None:
    """
    Measure control steps per second against bare mj_step on the same model.

    The two take turns in one process on one core; medians count.
    """
    from lsiq_ros.benchmarks.simulation import bench
    from sim.walking import WalkingConfig

    found = bench(robot, WalkingConfig(observation))
    typer.echo(
        f'task {found["control_steps_per_s"]:.0f} control steps/s, bare mj_step '
        f'{found["bare_mj_step_per_s"]:.0f}, ratio {found["ratio"]:.3f}'
    )
    if json_:
        typer.echo(json.dumps(found))
