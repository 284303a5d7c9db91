# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The walking task: what it shows, rewards and ends, and that it repeats to the bit."""

import math

from lsiq_core.robot import load_robot, Randomisation, RobotError
from lsiq_core.types import names
import mujoco
import numpy as np
import pytest
from sim.gait import Gait
from sim.randomisation import LateCommands
from sim.walking import make_walking, Walking, WalkingConfig

gait = Gait(load_robot('atlas'))

LEGS = [
    f'{joint}_{side}'
    for side in 'lr'
    for joint in ('hip_flexion', 'hip_adduction', 'hip_rotation', 'knee_angle', 'ankle_angle')
]


def babble(env, steps, seed=0):
    """Return the observations under random torques."""
    rng = np.random.default_rng(seed)
    return np.array([env.step(rng.normal(0, 40, len(env.joints))).obs for _ in range(steps)])


@pytest.mark.parametrize(
    'spec, upper_body, size', [('kinematic', False, 30), ('full', False, 42), ('paper', False, 32),
                               ('kinematic', True, 64), ('paper', True, 66)]
)  # fmt: skip
def test_specs_have_their_sizes_and_distinct_names(spec, upper_body, size):
    env = Walking('atlas_upper_body' if upper_body else 'atlas', WalkingConfig(spec))
    assert len(env.observation_terms) == size == len(set(names(env.observation_terms)))
    assert env.reset(seed=0).shape == (size,)
    assert len(env.action_terms) == len(env.action_high) == (27 if upper_body else 10)
    assert all(term.unit for term in env.observation_terms)


def test_kinematic_terms_are_in_order_and_mean_what_they_say():
    env = Walking()
    expected = ['base/height', 'base/roll', 'base/pitch', 'base/yaw']
    expected += [f'{joint}/position' for joint in LEGS]
    expected += [f'base/world_velocity_{axis}' for axis in 'xyz']
    expected += ['base/roll_rate', 'base/pitch_rate', 'base/yaw_rate']
    expected += [f'{joint}/velocity' for joint in LEGS]
    assert list(names(env.observation_terms)) == expected
    assert list(names(env.action_terms)) == [f'{joint}/effort' for joint in LEGS]
    readings = dict(zip(names(env.observation_terms), env.reset(seed=3)))
    for joint in LEGS:
        assert readings[f'{joint}/position'] == env.data.joint(joint).qpos[0]
        assert readings[f'{joint}/velocity'] == env.data.joint(joint).qvel[0]
    assert readings['base/height'] == env.data.body('pelvis').xpos[2]


def test_unknown_spec_is_named():
    with pytest.raises(RobotError, match=r"'tactile'.*kinematic"):
        Walking('atlas', WalkingConfig('tactile'))


def test_contact_forces_carry_the_weight():
    env = Walking('atlas', WalkingConfig('full'))
    standing = np.zeros(30)
    standing[0] = 0.936119
    env.model.dof_damping[6:] = 1e6  # a statue,
    env.model.dof_damping[:6] = 2e3  # that soon stops rocking on its soles
    env.reset_to(standing)
    upright = [env.step(np.zeros(10)).obs[30:] for _ in range(300)]
    weight = 171.6626 * 9.81
    assert upright[-1][2::3].sum() == pytest.approx(weight, abs=2.0)
    forces = upright[-1].reshape(4, 3)
    contact = np.zeros(3)
    for i in range(env.data.ncon):  # the same, summed over contact points by hand
        wrench = np.zeros(6)
        mujoco.mj_contactForce(env.model, env.data, i, wrench)
        contact += env.data.contact[i].frame.reshape(3, 3).T @ wrench[:3]
    np.testing.assert_allclose(forces.sum(axis=0), contact, atol=1e-6 * weight)


def test_metric_is_the_papers():
    env = Walking()
    assert env.metric(1.25) == 1.0
    assert env.metric(0.25) == pytest.approx(math.exp(-1))
    env.reset(seed=1)
    env.step(np.zeros(10))
    # By hand: the torso's velocity at the start of the last of the five physics steps.
    replay = Walking()
    replay.reset(seed=1)
    mujoco.mj_step(replay.model, replay.data, 4)
    mujoco.mj_forward(replay.model, replay.data)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(
        replay.model,
        replay.data,
        mujoco.mjtObj.mjOBJ_SITE,
        replay.model.site('torso').id,
        velocity,
        0,
    )
    replay.reset(seed=1)
    assert replay.step(np.zeros(10)).reward == pytest.approx(env.metric(velocity[3]), rel=1e-9)


def test_without_torque_the_robot_falls_and_the_fall_is_no_time_limit():
    env = Walking()
    env.reset(seed=0)
    for _ in range(300):
        step = env.step(np.zeros(10))
        if step.terminated:
            break
    assert step.terminated and not step.truncated
    assert np.isfinite(step.obs).all()


@pytest.mark.parametrize(
    'place, value', [(0, 0.6), (0, 1.1), (1, 0.3), (1, -0.3), (2, 0.75), (2, -0.3), (3, 0.4)]
)
def test_every_bound_ends_the_episode(place, value):
    frame = gait.kinematic_frames(0.2)
    frame[place] = value
    env = Walking()
    env.reset_to(frame)
    assert env.step(np.zeros(10)).terminated


def test_a_diverged_simulation_ends_with_a_finite_observation():
    env = Walking()
    env.reset(seed=0)
    env.data.qvel[8] = np.nan
    step = env.step(np.zeros(10))
    assert step.terminated and np.isfinite(step.obs).all() and step.reward == 0.0


def test_the_clock_truncates():
    env = Walking('atlas', WalkingConfig(max_episode_steps=3))
    env.reset(seed=0)
    ends = [env.step(np.zeros(10)) for _ in range(3)]
    assert [step.truncated for step in ends] == [False, False, True]
    assert not ends[-1].terminated


def test_torques_are_clipped_to_the_motors():
    strong, limited = Walking(), Walking()
    strong.reset(seed=2)
    limited.reset(seed=2)
    np.testing.assert_array_equal(
        strong.step(np.full(10, 1e6)).obs, limited.step(limited.action_high).obs
    )


def test_a_seed_repeats_everything():
    noisy = Randomisation(
        mass_scale=(0.9, 1.1), delay_ms=(0, 8), push_n=(0, 90), position_noise=0.01
    )
    runs = []
    for _ in range(2):
        env = Walking('atlas', WalkingConfig(randomisation=noisy))
        runs.append((env.reset(seed=11), babble(env, 30)))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert (env.reset(seed=12) != runs[0][0]).any()


@pytest.mark.parametrize(
    'randomisation',
    [
        Randomisation(),
        Randomisation(
            mass_scale=(0.9, 1.1),
            friction=(0.5, 1.0),
            torque_scale=(0.8, 1.0),
            delay_ms=(13, 17),
            push_n=(50, 100),
            push_every_s=(0.05, 0.1),
            delay_jitter_ms=(0, 6),
            observation_delay_ms=(4, 12),
            slope_rad=(0, 0.1),
            encoder_offset_rad=0.02,
            velocity_noise=0.1,
        ),
    ],
)
def test_a_restored_state_continues_to_the_bit(randomisation):
    config = WalkingConfig('full', randomisation=randomisation)
    env = Walking('atlas', config, seed=5)
    babble(env, 12)
    saved = {name: np.array(value) for name, value in env.state().items()}
    expected, start = babble(env, 20, seed=1), env.reset()
    other = Walking('atlas', config, seed=99)
    other.restore(saved)
    np.testing.assert_array_equal(babble(other, 20, seed=1), expected)
    np.testing.assert_array_equal(other.reset(), start)


def test_a_state_of_an_earlier_version_is_refused_in_a_sentence():
    env = Walking()
    saved = {**env.state(), 'conditions': np.array([1.0, np.nan, 1.0, 0.0])}
    saved.pop('past')
    with pytest.raises(RobotError, match='earlier version.*not resumed'):
        env.restore(saved)


def test_resets_come_from_the_frames_with_little_noise():
    frames = gait.kinematic_frames(np.array([0.1, 0.4]))
    env = Walking(reset_frames=frames, seed=0)
    starts = np.array([env.reset() for _ in range(200)])
    distance = np.abs(starts[:, None] - frames[None]).max(axis=-1)
    assert set(distance.argmin(axis=1)) == {0, 1}
    nearest = frames[distance.argmin(axis=1)]
    assert (starts - nearest)[:, 1:14].std() == pytest.approx(0.01, rel=0.1)
    assert (starts - nearest)[:, 14:].std() == pytest.approx(0.05, rel=0.1)
    with pytest.raises(RobotError, match='30 values, found 32'):
        Walking(reset_frames=np.zeros((3, 32)))
    full = make_walking('atlas', 'full', reset_frames=np.pad(frames, ((0, 0), (0, 12))), seed=0)
    assert (full.reset(seed=0)[:30] == env.reset(seed=0)).all()


def test_files_of_starts_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / 'bad.npz').write_text('garbage')
    with pytest.raises(RobotError, match=r'bad.npz: not a readable npz of plain arrays'):
        make_walking('atlas', start=str(tmp_path / 'bad.npz'))
    np.savez(tmp_path / 'other.npz', poses=np.zeros(3))
    with pytest.raises(RobotError, match=r"other.npz: holds \['poses'\], expected frames"):
        make_walking('atlas', start=str(tmp_path / 'other.npz'))


def test_options_by_name_reach_the_task():
    env = make_walking('atlas', 'paper', max_episode_steps=7, randomisation={'delay_ms': [2, 2]})
    assert len(env.observation_terms) == 32 and env.max_episode_steps == 7
    assert env.config.randomisation == Randomisation(delay_ms=(2, 2))
    varied = make_walking('atlas', randomisation='robot')
    assert varied.randomisation == load_robot('atlas').randomisation != Randomisation()
    with pytest.raises(RobotError, match="'much': expected ranges by name, or 'robot'"):
        make_walking('atlas', randomisation='much')
    with pytest.raises(RobotError, match='mass: unknown key, allowed are .*mass_scale'):
        make_walking('atlas', randomisation={'mass': 1})
    with pytest.raises(ValueError, match='gravity'):
        make_walking('atlas', gravity=1.6)
    with pytest.raises(ValueError, match='it is called randomisation'):
        make_walking('atlas', variations={})


def test_reset_to_is_exact():
    env = Walking()
    frame = gait.kinematic_frames(0.3)
    np.testing.assert_allclose(env.reset_to(frame), frame, atol=1e-12)


@pytest.mark.parametrize(
    'randomisation',
    [
        Randomisation(mass_scale=(1.1, 1.1)),
        Randomisation(friction=(0.02, 0.02)),
        Randomisation(torque_scale=(0.5, 0.5)),
        Randomisation(delay_ms=(4, 4)),
        Randomisation(delay_ms=(20, 20)),
        Randomisation(push_n=(300, 300), push_every_s=(0.0, 0.0)),
        Randomisation(velocity_noise=0.1),
        Randomisation(velocity_noise=0.0, base_velocity_noise=0.1),
        Randomisation(com_offset_m=0.05),
        Randomisation(joint_friction=0.02),
        Randomisation(joint_damping=0.005),
        Randomisation(armature=0.5),
        Randomisation(delay_jitter_ms=8),
        Randomisation(observation_delay_ms=4),
        Randomisation(slope_rad=0.05),
        Randomisation(encoder_offset_rad=0.01),
        Randomisation(base_position_bias=0.01),
        Randomisation(base_velocity_bias=0.1),
    ],
)
def test_every_variation_has_an_effect(randomisation):
    frame = gait.kinematic_frames(0.3)
    plain, varied = Walking(), Walking('atlas', WalkingConfig(randomisation=randomisation))
    plain.reset_to(frame)
    varied.reset_to(frame)
    assert np.abs(babble(plain, 8)[-1] - babble(varied, 8)[-1]).max() > 1e-4


def test_delay_holds_the_old_command_for_its_time():
    late = Walking('atlas', WalkingConfig(randomisation=Randomisation(delay_ms=(6, 6))))
    frame, torque = gait.kinematic_frames(0.3), np.full(10, 30.0)
    late.reset_to(frame)
    obs = late.step(torque).obs
    by_hand = Walking()
    by_hand.reset_to(frame)
    mujoco.mj_step(by_hand.model, by_hand.data, 3)
    by_hand.data.ctrl[:] = torque
    mujoco.mj_step(by_hand.model, by_hand.data, 2)
    np.testing.assert_array_equal(obs, by_hand.kinematic())


def test_a_late_pd_drive_gives_the_torque_of_a_past_state():
    ranges = Randomisation(delay_ms=6, torque_scale=0.8, encoder_offset_rad=0.05)
    config = WalkingConfig(action='pd_target', randomisation=ranges)
    env = Walking('quad', config, seed=1)
    stiff, damping = env._nominal.actuator_gainprm[:, 0], -env._nominal.actuator_biasprm[:, 2]
    offset = env._worlds.conditions[0].bias[env._worlds._sensors.encoders]
    late = 3 * round(0.002 / env.model.opt.timestep)
    target = env.robot.rest + 0.1
    by_hand = mujoco.MjData(env.model)
    by_hand.qpos[:], by_hand.qvel[:] = env.data.qpos, env.data.qvel
    past = [np.zeros(env.model.nu)] * late  # nothing is commanded before the first comes
    for _ in range(4):
        env.step(target)
        for _ in range(env.robot.substeps):
            measured = by_hand.qpos[env.robot.joint_qpos] + offset
            torque = stiff * (target - measured) - damping * by_hand.qvel[env.robot.joint_qvel]
            past.append(0.8 * np.clip(torque, *env._nominal.actuator_forcerange.T))
            by_hand.ctrl[:] = past.pop(0)
            mujoco.mj_step(env.model, by_hand)
    np.testing.assert_allclose(env.data.qpos, by_hand.qpos, rtol=1e-12, atol=1e-12)
    assert np.abs(by_hand.ctrl).max() > 1


def test_a_late_observation_is_a_past_one():
    ranges = Randomisation(observation_delay_ms=14)  # one control period and two physics steps
    late, plain = Walking('atlas', WalkingConfig(randomisation=ranges)), Walking()
    frame, torque = gait.kinematic_frames(0.3), np.full(10, 30.0)
    np.testing.assert_array_equal(late.reset_to(frame), plain.reset_to(frame))
    seen = [late.step(torque).obs for _ in range(3)]
    past = []
    plain.data.ctrl[:] = torque
    for _ in range(15):
        mujoco.mj_step(plain.model, plain.data)
        past.append(plain.kinematic())
    for obs, step in zip(seen[1:], (10, 15)):
        np.testing.assert_allclose(obs, past[step - 1 - 7], atol=1e-12)


def test_commands_that_are_overtaken_never_act():
    commands = LateCommands(1, np.zeros(1), every=5, latest=12)
    acting = [
        commands.send(np.array([[float(number)]]), np.array([delay]))[0, :, 0].tolist()
        for number, delay in ((1, 12), (2, 3), (3, 0), (4, 0))
    ]
    # The first comes at step 12, after the second (8) and the third (10).
    assert acting == [[0] * 5, [0] * 3 + [2] * 2, [3] * 5, [4] * 5]


def test_a_slope_pulls_back_and_is_felt():
    slope = Randomisation(slope_rad=0.1)
    env = Walking('atlas', WalkingConfig(randomisation=slope), seed=3)
    x, y = env._worlds.conditions[0].slope_x_rad, env._worlds.conditions[0].slope_y_rad
    assert np.hypot(x, y) == pytest.approx(0.1)
    down = -env.model.opt.gravity / np.linalg.norm(env.model.opt.gravity)
    assert np.arccos(down[2]) == pytest.approx(0.1, rel=1e-2)
    frame = gait.kinematic_frames(0.3)
    error = env.reset_to(frame) - frame
    x, y = env._worlds.conditions[0].slope_x_rad, env._worlds.conditions[0].slope_y_rad
    np.testing.assert_allclose(error[1:3], [y, -x], atol=1e-12)  # uphill it leans back


def test_the_robots_file_is_not_used_unasked():
    spec = load_robot('atlas').model_copy(update={'randomisation': Randomisation(mass_scale=2)})
    assert Walking(spec).model.body_mass.sum() == pytest.approx(171.6626, rel=1e-6)


def test_masses_scale_the_mass_matrix():
    env = Walking('atlas', WalkingConfig(randomisation=Randomisation(mass_scale=(1.2, 1.2))))
    assert env.model.body_mass.sum() == pytest.approx(1.2 * 171.6626, rel=1e-6)
    env.reset()  # scaled from the file again, not from itself
    assert env.model.body_mass.sum() == pytest.approx(1.2 * 171.6626, rel=1e-6)
