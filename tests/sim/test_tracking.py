# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The expert: its gait, its file, what it sees and commands, and that it walks."""

from dataclasses import replace
import json
from pathlib import Path

from lsiq_core.robot import load_robot, Randomisation
import numpy as np
import pytest
from sim.gait import Gait
from sim.mirror import mirror_of
from sim.robot import MujocoRobot
from sim.tracking.collect import collect, CollectConfig
from sim.tracking.controller import ExpertController
from sim.tracking.feed_forward import feed_forward
from sim.tracking.reference import gait_reference, Reference
from sim.tracking.tracking_env import (
    _falls,
    Errors,
    gentleness,
    Inputs,
    tracking_reward,
    TrackingEnv,
)
from sim.walking import Walking, WalkingConfig

EXPERT = Path(__file__).resolve().parents[2] / 'models' / 'atlas' / 'expert' / 'expert.onnx'
ATLAS = load_robot('atlas')
gait = Gait(ATLAS)


@pytest.fixture(scope='module')
def expert():
    return ExpertController(EXPERT)


def test_gait_values_worked_out_by_hand():
    # At phase 0 the left leg is stretched back: hip 0.06 - 0.40, and the bump at 0.19 is
    # exp(-0.5 (0.19 / 0.085)^2) = 0.082227 high; the one at 0.62 has vanished.
    hip, _, _, knee, ankle = gait.leg_angles(0.0)
    assert hip == pytest.approx(-0.34)
    assert knee == pytest.approx(-0.12 - 0.85 * 0.082227, abs=1e-5)
    assert ankle == pytest.approx(-0.7 * (hip + knee))
    np.testing.assert_allclose(gait.joint_angles(0.3)[5:], gait.joint_angles(0.8)[:5])


def test_gait_velocities_are_the_slopes_of_its_angles():
    phase, step = np.linspace(0, 1, 50), 1e-6
    slope = (gait.joint_angles(phase + step) - gait.joint_angles(phase - step)) / (2 * step)
    np.testing.assert_allclose(gait.joint_velocities(phase), slope / gait.period_s, atol=1e-6)


def test_lowest_sole_of_the_gait_touches_the_floor():
    env = Walking()
    for phase in np.linspace(0, 1, 7):
        env.reset_to(gait.kinematic_frames(phase))
        corners = []
        for i in range(env.model.ngeom):
            if 'foot' not in env.model.geom(i).name:
                continue
            for signs in np.ndindex(2, 2, 2):
                corner = (2 * np.array(signs) - 1) * env.model.geom_size[i]
                turn = env.data.geom_xmat[i].reshape(3, 3)
                corners.append(env.data.geom_xpos[i] + turn @ corner)
        assert min(corner[2] for corner in corners) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(('pitch_rad', 'ends'), [(0.6, True), (0.8, False)])
def test_a_motion_that_leans_further_than_a_fall_is_followed_all_the_same(pitch_rad, ends):
    """Quad's file calls a lean of 0.7 rad a fall, without a bound of its pitch."""
    quad = load_robot('quad')
    frame = np.zeros(10 + 2 * 8)
    frame[0], frame[2] = 0.3, pitch_rad
    reference = Reference.of([np.tile(frame, (20, 1))], quad.control.rate_hz)
    assert bool(_falls(quad, reference).upright > 0) is ends


def test_perfect_tracking_earns_one_and_errors_cost():
    shapes = ((2, 10), (2, 10), (2,), (2, 3), (2, 2), (2, 2), (2, 2))
    exact = Errors(*(np.zeros(shape) for shape in shapes))
    np.testing.assert_allclose(tracking_reward(exact), 1.0)
    slow = exact._replace(velocity_mps=np.array([[-0.5, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(tracking_reward(slow), [0.7 + 0.3 * np.exp(-4 * 0.25), 1.0])
    late = exact._replace(drift_m=np.array([[-0.1, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(tracking_reward(late), [0.7 + 0.3 * np.exp(-30 * 0.01), 1.0])
    bent = exact._replace(joints_rad=np.full((2, 10), 0.1))
    np.testing.assert_allclose(tracking_reward(bent), 0.6 + 0.4 * np.exp(-40 * 0.01))


def test_who_is_told_no_place_is_late_by_what_it_was_too_slow(expert):
    untold = replace(expert.reference, leash_m=0.0)
    env = TrackingEnv(ATLAS, untold, 1, seed=0)
    env.start_at(np.array([0]))
    wanted = 0.0
    for _ in range(20):  # without torque it falls behind; worked out step by step
        env.step(np.zeros((1, 10)), np.zeros((1, 10)))
        wanted = (1 - 0.01) * wanted + 0.01 * env.errors().velocity_mps[0]
    np.testing.assert_allclose(env.errors().drift_m[0], wanted, atol=1e-9)
    assert np.abs(wanted).max() > 0.005
    env.restart(np.array([True]))
    assert not env.errors().drift_m.any()
    env.batch.close()
    told = TrackingEnv(ATLAS, expert.reference, 1, seed=0)
    told.step(np.zeros((1, 10)), np.zeros((1, 10)))
    assert not told.errors().drift_m.any()
    told.batch.close()


def test_a_joint_beyond_its_drive_costs_the_reward_and_never_more():
    speeds = np.array([[0.8, 0.1], [1.8, 0.0], [1.8, 1.8], [90.0, 0.0]])
    np.testing.assert_allclose(gentleness(speeds), np.exp([0.0, -0.3, -0.6, -np.inf]), atol=1e-9)


def test_the_fastest_speed_of_a_joint_within_a_period_is_seen():
    env = TrackingEnv(ATLAS, gait_reference(ATLAS, gait.joints), 3, seed=0)
    env.step(np.zeros((3, 10)), np.zeros((3, 10)))
    after = np.abs(env.state[:, 20:])
    assert (env.batch.fastest >= after).all() and (env.batch.fastest > after).any()


def test_a_symmetric_cycle_is_learned_as_one_half():
    torch = pytest.importorskip('torch')
    from sim.tracking.tracker import Tracker

    robot = MujocoRobot(ATLAS, forces=False)
    reference = gait_reference(ATLAS, robot.joints)
    torch.manual_seed(0)
    tracker = Tracker(robot, reference)
    torch.nn.init.normal_(tracker.actor[-1].weight)
    assert tracker.mirrored_from == 55
    mirror, rng = mirror_of(robot), np.random.default_rng(0)
    state = reference.frames[[3]] + 0.05 * rng.standard_normal((1, 30))
    offset, last = rng.standard_normal((1, 2)), rng.standard_normal((1, 10))

    def ask(*values):
        inputs = (torch.tensor(np.asarray(v), dtype=torch.float32) for v in values[1:])
        with torch.no_grad():
            state, offset_m, last = inputs
            return tracker(state, torch.tensor([values[0]]), offset_m, last)

    left = ask(3, state, offset, last)
    # The joints of the legs swap, and the signs of adduction and rotation are the mirror's.
    swap, sign = mirror.source[4:14] - 4, mirror.sign[4:14]
    assert sorted(swap[:5]) == [5, 6, 7, 8, 9]
    right = ask(58, mirror(state), offset * [1, -1], last[:, swap] * sign)
    # Feed-forward torques differ a little: the masses of the MJCF are not quite symmetric.
    for mine, its, tolerance in zip(left, right, (8.0, 1e-4)):
        assert mine.abs().max() > 1.0
        np.testing.assert_allclose(its, mine.numpy()[:, swap] * sign, atol=tolerance)
    lopsided = reference.frames.copy()
    lopsided[7, 6] += 0.1
    assert Tracker(robot, replace(reference, frames=lopsided)).mirrored_from == 0


def test_the_cycle_of_the_gait_goes_as_fast_as_the_task_wants():
    reference = gait_reference(ATLAS, gait.joints)
    assert reference.cyclic and len(reference.frames) == 110
    assert reference.stride_m[0] == pytest.approx(1.25 * 1.1)
    assert reference.after(np.array([109]), 1)[0] == 0


def test_the_place_in_the_reference_is_found_from_the_state(expert):
    rng = np.random.default_rng(0)
    reference = expert.reference
    for row in (0, 20, 55, 90):
        frame = reference.frames[row] + 0.01 * rng.standard_normal(30)
        away = abs(reference.nearest(frame) - row)
        assert min(away, len(reference.frames) - away) <= 3


def test_expert_walks_ten_seconds_through_its_file(expert):
    env = Walking()
    expert.reset(env.reset(seed=4), env.place_m)
    rewards = []
    for _ in range(1000):
        step = env.step(expert.act(env.kinematic(), env.place_m).command)
        rewards.append(step.reward)
        assert not step.terminated
    assert step.truncated
    assert env.data.qpos[0] / 10 == pytest.approx(1.25, abs=0.15)
    assert np.mean(rewards) > 0.95


def test_collected_states_follow_from_collected_actions(expert):
    config = CollectConfig(episodes=3, seconds=0.5, seed=2, parallel=3)
    rollouts, tried = collect(expert.answer, ATLAS, expert.reference, config)
    assert [len(x.actions) for x in rollouts] == [50] * 3 and tried >= 3
    assert len({x.noise for x in rollouts}) == 3
    env = Walking()
    for rollout in rollouts:
        assert rollout.states.shape == (51, 42)
        env.reset_to(rollout.states[0, :30])
        replay = [env.step(action).obs for action in rollout.actions]
        np.testing.assert_allclose(replay, rollout.states[1:, :30], atol=1e-6)


def test_a_world_with_sensors_of_its_own_shows_what_they_said(expert):
    config = CollectConfig(
        episodes=2,
        seconds=0.3,
        parallel=2,
        randomisation=Randomisation(position_noise=(0.01, 0.01)),
    )
    rollouts, _ = collect(expert.answer, ATLAS, expert.reference, config)
    off = np.concatenate([x.observed - x.states for x in rollouts])
    assert off[:, 4:14].std() == pytest.approx(0.01, rel=0.2)  # joint positions
    assert not off[:, 20:30].any()  # their velocities


def test_an_episode_ends_well_before_it_is_lost(expert):
    push = Randomisation(push_n=(3000.0, 3000.0), push_every_s=(4.0, 4.0))  # none stands that
    config = CollectConfig(episodes=2, seconds=8.0, noise=(0, 0), parallel=2, randomisation=push)
    rollouts, tried = collect(expert.answer, ATLAS, expert.reference, config)
    assert tried == 2
    for rollout in rollouts:
        assert (
            200 <= len(rollout.actions) < 400 and len(rollout.states) == len(rollout.actions) + 1
        )
        assert np.abs(rollout.states[:, 1:3]).max() < 0.25  # upright


def test_clean_demonstrations_repeat_from_their_seed(expert):
    config = CollectConfig(episodes=2, seconds=0.3, noise=(0, 0), parallel=2)
    first, second = (collect(expert.answer, ATLAS, expert.reference, config)[0] for _ in range(2))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one.states, other.states)
        assert one.noise == 0


def test_a_correction_is_worth_less_where_the_foot_is_in_the_air(expert):
    # Row 0: the left leg is stretched back and stands; a quarter later it swings.
    ankle = gait.joints.index('ankle_angle_l')
    zeros = np.zeros((2, 30)), np.array([0, 25]), np.zeros((2, 2)), np.zeros((2, 10))
    scale = expert.answer(Inputs(*zeros)).residual_scale[:, ankle]
    assert scale[1] < 0.3 * scale[0]


def test_feed_forward_carries_a_standing_robot():
    quad = MujocoRobot(load_robot('quad'), forces=False)
    still = Reference.of([np.tile(quad.nominal_frame(), (20, 1))], 50.0)
    torques = feed_forward(quad, still)
    np.testing.assert_allclose(torques, torques[:1].repeat(20, axis=0), atol=1e-9)
    env = Walking(quad.spec, WalkingConfig(start='stand'))
    sag = []
    for share in (0.0, 1.0):
        env.reset_to(quad.nominal_frame())
        target = quad.rest + share * torques[0] / [joint.stiffness for joint in quad.facts]
        for _ in range(50):
            env.step(target)
        sag.append(np.abs(env.kinematic() - quad.nominal_frame())[4:12].max())
    assert sag[1] < 0.4 * sag[0]


def test_a_missing_or_foreign_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r'nobody.onnx.*lsiq expert train'):
        ExpertController(tmp_path / 'nobody.onnx')


def test_an_expert_of_0_1_is_refused_with_what_to_do(tmp_path):
    onnx = pytest.importorskip('onnx')
    model = onnx.load(str(EXPERT))
    onnx.helper.set_model_props(model, {'schema': 'lsiq_expert/1'})
    onnx.save(model, str(tmp_path / 'old.onnx'))
    with pytest.raises(ValueError, match=r"'lsiq_expert/1'.*lsiq expert train"):
        ExpertController(tmp_path / 'old.onnx')


def test_training_repeats_and_its_file_gives_the_same_commands(tmp_path):
    torch = pytest.importorskip('torch')
    from sim.tracking.export import export_onnx
    from sim.tracking.train import tensors, TrackerConfig, TrackerRun

    reference = gait_reference(ATLAS, MujocoRobot(ATLAS).joints)
    config = TrackerConfig(num_envs=8, round_s=0.12, max_steps=192, normaliser_steps=96)
    runs = [TrackerRun(ATLAS, reference, config) for _ in range(2)]
    for run in runs:
        while not run.done:
            run.iterate()
    assert [row['steps'] for row in runs[0].curve] == [96, 192]
    assert runs[0].curve[-1]['reward'] == runs[1].curve[-1]['reward']  # from the seed
    path, policy = tmp_path / 'expert.onnx', runs[0].learner.policy
    export_onnx(policy, ATLAS, replace(reference, leash_m=0.0), path, facts={'seed': 0})
    assert ExpertController(path).reference.leash_m == 0.0
    assert ExpertController(EXPERT).reference.leash_m == 0.5  # older files do not say
    rng = np.random.default_rng(0)
    rows = np.array([3, 50, 109])
    inputs = Inputs(
        reference.frames[rows] + 0.02 * rng.standard_normal((3, 30)),
        rows,
        np.array([[0.1, 0.0], [0.0, -0.4], [0.0, 0.0]]),
        rng.standard_normal((3, 10)),
    )
    with torch.no_grad():
        command, residual = policy(*tensors(inputs))
    said = ExpertController(path).answer(inputs)
    np.testing.assert_allclose(said.command, command.numpy(), atol=1e-2)
    np.testing.assert_allclose(said.residual, residual.numpy(), atol=1e-4)


def test_advantages_worked_out_by_hand():
    torch = pytest.importorskip('torch')
    from sim.tracking.ppo import advantages, Outcomes

    column = lambda *values: torch.tensor(values)[:, None]  # noqa: E731
    outcomes = Outcomes(
        reward=column(1.0, 2.0, 3.0),
        value=column(0.5, 0.5, 0.5),
        next_value=column(0.5, 4.0, 0.5),
        terminated=column(False, False, True),
        ended=column(False, True, True),
    )
    found = advantages(outcomes, gamma=0.5, trace_decay=0.5)
    # The last fell: 3 - 0.5. The second ran out of time: 2 + 0.5 * 4 - 0.5, cut off behind.
    # The first: 1 + 0.25 - 0.5 + 0.25 * 3.5.
    assert found.flatten().tolist() == [1.625, 3.5, 2.5]


def test_shipped_demonstrations_are_the_experts():
    folder = EXPERT.parents[1] / 'demos'
    with np.load(folder / 'walk_noisy.npz', allow_pickle=False) as demos:
        assert 'actions' not in demos.files
        assert demos['states'].shape == (25 * 1001, 42)
        assert not demos['terminated'].any()
        assert json.loads(str(demos['metadata']))['task'] == 'atlas'
        first = demos['states'][:1001].astype(float)
    with np.load(folder / 'walk_noisy.actions.npz', allow_pickle=False) as apart:
        actions = apart['actions'][:1000].astype(float)
    env = Walking()
    for t in (0, 300, 999):  # float32 states step to the next ones
        env.reset_to(first[t])
        np.testing.assert_allclose(env.step(actions[t]).obs, first[t + 1, :30], atol=2e-2)
