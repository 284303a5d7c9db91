# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Smoothing takes noise away and leaves the motion: against closed forms and known noise."""

from lsiq_core.data.smoothing import noise_level, smooth
import numpy as np
import pytest

RATE_HZ = 100.0
TIMES = np.arange(1000) / RATE_HZ


def swing(times=TIMES):
    """Return a motion of 1 Hz and its exact velocity, [T, 1] each."""
    angle = 2 * np.pi * times
    return 0.5 * np.sin(angle)[:, None], np.pi * np.cos(angle)[:, None]


def rms(values):
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.parametrize('sigma', [0.002, 0.01, 0.1])
def test_the_noise_level_is_found_on_a_moving_joint(sigma):
    noise = sigma * np.random.default_rng(0).standard_normal(len(TIMES))
    assert noise_level(swing()[0][:, 0] + noise) == pytest.approx(sigma, rel=0.15)


def test_third_differences_of_white_noise_have_twenty_times_its_variance():
    noise = np.random.default_rng(1).standard_normal(200_000)
    assert np.diff(noise, n=3).var() == pytest.approx(20.0, rel=0.02)


def test_a_few_impacts_do_not_count_as_noise():
    signal = swing()[0][:, 0].copy()
    signal[500:] += 0.3
    assert noise_level(signal) < 1e-3


def test_noise_shrinks_and_velocity_follows():
    rng = np.random.default_rng(2)
    position, velocity = swing()
    noisy = position + 0.01 * rng.standard_normal(position.shape)
    fast = velocity + 0.5 * rng.standard_normal(velocity.shape)
    found = smooth(noisy, fast, RATE_HZ)
    assert rms(found.position - position) < 0.004
    assert rms(found.velocity - velocity) < 0.1
    assert found.position_noise[0] == pytest.approx(0.01, rel=0.15)
    assert found.velocity_noise[0] == pytest.approx(0.5, rel=0.15)


def test_it_does_not_delay():
    noisy = swing()[0] + 0.01 * np.random.default_rng(3).standard_normal((len(TIMES), 1))
    found = smooth(noisy, None, RATE_HZ).position[:, 0]
    shifts = range(-5, 6)
    fits = [np.dot(found[50:-50], np.roll(swing()[0][:, 0], shift)[50:-50]) for shift in shifts]
    assert list(shifts)[int(np.argmax(fits))] == 0


def test_a_clean_recording_stays_as_it_is():
    position, velocity = swing()
    found = smooth(position, velocity, RATE_HZ)
    assert np.abs(found.position - position).max() < 2e-3


def test_a_short_gap_is_filled():
    position, velocity = swing()
    gap = slice(300, 310)
    position_seen, velocity_seen = position.copy(), velocity.copy()
    position_seen[gap], velocity_seen[gap] = np.nan, np.nan
    found = smooth(position_seen, velocity_seen, RATE_HZ)
    assert np.abs(found.position - position)[gap].max() < 0.01


def test_too_little_is_refused():
    with pytest.raises(ValueError, match='3 samples are too few'):
        smooth(np.zeros((3, 1)), None, RATE_HZ)
    with pytest.raises(ValueError, match='holds 0 samples of 20'):
        smooth(np.full((20, 1), np.nan), None, RATE_HZ)
