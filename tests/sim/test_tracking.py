# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The expert: its gait, its mirror, its file, and that it walks."""

import json
from pathlib import Path

from lsiq_core.robot import load_robot
import numpy as np
import pytest
from sim.gait import Gait
from sim.tracking.collect import collect
from sim.tracking.controller import ExpertController, nearest_phase
from sim.tracking.reward import residual_cost, tracking_reward
from sim.walking import Walking

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


def test_perfect_tracking_earns_one_and_jumps_cost():
    phase = np.array([0.1, 0.7])
    frames = gait.kinematic_frames(phase)
    np.testing.assert_allclose(tracking_reward(gait, frames, phase, np.zeros(2)), 1.0)
    slow = frames.copy()
    slow[:, 14] -= 0.5
    expected = 0.7 + 0.3 * np.exp(-4 * 0.25)
    np.testing.assert_allclose(tracking_reward(gait, slow, phase, np.zeros(2)), expected)
    cost = residual_cost(np.ones((1, 10)), np.zeros((1, 10)))
    np.testing.assert_allclose(cost, 0.005 + 0.02)


def test_the_phase_is_found_from_the_state():
    rng = np.random.default_rng(0)
    for phase in np.linspace(0, 1, 12, endpoint=False):
        frame = gait.kinematic_frames(phase) + 0.01 * rng.standard_normal(30)
        distance = (nearest_phase(gait, frame) - phase + 0.5) % 1 - 0.5
        assert abs(distance) < 0.02


def test_expert_walks_ten_seconds_through_its_file(expert):
    env = Walking()
    expert.reset(env.reset(seed=4))
    rewards = []
    for _ in range(1000):
        step = env.step(expert.act(env.kinematic(), env.lateral_m))
        rewards.append(step.reward)
        assert not step.terminated
    assert step.truncated
    assert env.data.qpos[0] / 10 == pytest.approx(1.25, abs=0.15)
    assert np.mean(rewards) > 0.95


def test_torques_are_mirrored_with_the_robot(expert):
    pytest.importorskip('torch')
    from sim.tracking.policy import mirror_order, mirror_signs

    state = gait.kinematic_frames(0.1) + 0.05 * np.random.default_rng(1).standard_normal(30)
    mirrored = state[mirror_order(10)] * mirror_signs(10).numpy()
    states = np.stack((state, mirrored))
    torque, _ = expert.torque(states, np.array([0.1, 0.6]), np.array([0.05, -0.05]))
    np.testing.assert_allclose(torque[0], np.roll(torque[1], 5), atol=1e-2)


def test_collected_states_follow_from_collected_actions(expert):
    rollouts = collect(expert, episodes=3, seconds=0.5, seed=2)
    assert [len(x.actions) for x in rollouts] == [50] * 3
    assert len({x.noise for x in rollouts}) == 3
    env = Walking()
    for rollout in rollouts:
        assert rollout.full.shape == (51, 42) and not rollout.terminated
        env.reset_to(rollout.kinematic[0])
        replay = [env.step(action).obs for action in rollout.actions]
        np.testing.assert_allclose(replay, rollout.kinematic[1:], atol=1e-6)


def test_clean_demonstrations_repeat_from_their_seed(expert):
    first, second = (collect(expert, episodes=2, seconds=0.3, noise=(0, 0)) for _ in range(2))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one.full, other.full)
        assert one.noise == 0


def test_a_missing_or_foreign_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r'nobody.onnx.*lsiq expert train'):
        ExpertController(tmp_path / 'nobody.onnx')


def test_training_repeats_and_its_file_gives_the_same_torques(tmp_path):
    torch = pytest.importorskip('torch')
    from sim.tracking.export import export_onnx
    from sim.tracking.train import train, TrainConfig

    config = TrainConfig(num_envs=8, steps_per_round=12, max_steps=192, normaliser_steps=96)
    trained = train(config)
    again = train(config)
    assert [row['steps'] for row in trained.curve] == [96, 192]
    assert trained.curve[-1]['reward'] == again.curve[-1]['reward']  # from the seed
    path = tmp_path / 'expert.onnx'
    export_onnx(trained.policy, ATLAS, path, facts={'seed': 0})
    phase = np.array([0.2, 0.7, 0.95])
    states, offset = gait.kinematic_frames(phase), np.array([0.1, 0.0, -0.4])
    with torch.no_grad():
        inputs = (torch.tensor(x, dtype=torch.float32) for x in (states, phase, offset))
        expected = trained.policy(*inputs).numpy()
    torque, _ = ExpertController(path).torque(states, phase, offset)
    np.testing.assert_allclose(torque, expected, atol=1e-2)


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
