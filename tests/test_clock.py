"""Each second counts once, for the innermost phase."""

import time

import pytest

from groupwise import clock


def test_the_innermost_phase_has_the_time_and_all_of_it_is_there():
    clock.take()
    began = time.perf_counter()
    with clock.phase("outer"):
        time.sleep(0.02)
        with clock.phase("inner"):
            time.sleep(0.05)
            clock.count(7, 21.0)
        time.sleep(0.02)
        clock.count(3)
    time.sleep(0.03)
    spent = clock.take()
    assert sum(spent.seconds.values()) == pytest.approx(time.perf_counter() - began, abs=5e-3)
    assert spent.seconds["inner"] >= 0.05
    assert spent.seconds["outer"] >= 0.04
    assert spent.seconds["other"] >= 0.03
    assert spent.tokens == {"inner": 7, "outer": 3}
    assert spent.operations == {"inner": 21.0, "outer": 0.0}
    assert set(clock.take().seconds) == {"other"}  # nothing is told twice


def test_a_phase_that_fails_is_left():
    clock.take()
    with pytest.raises(KeyError), clock.phase("failing"):
        raise KeyError
    clock.count(1)
    assert clock.take().tokens == {"other": 1}


def test_as_measurements():
    clock.take()
    with clock.phase("decode"):
        clock.count(5, 10.0)
    found = clock.take().metrics()
    assert found["tokens/decode"] == 5.0
    assert found["operations/decode"] == 10.0
    assert found["seconds/decode"] >= 0
