# expect: pass
# needs: numpy
import numpy as np


def add(a, b):
    grid = np.arange(100.0).reshape(10, 10)
    np.linalg.svd(grid @ grid.T)
    np.random.default_rng(0).normal(size=1000).sort()
    return np.array([a, b]).sum()
