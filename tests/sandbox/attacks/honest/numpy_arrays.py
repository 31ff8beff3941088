# expect: pass
# needs: numpy
# calls: [([1, 2], [[1.0, 2.0], [2.0, 4.0]])]
import numpy


def add(a, b):
    return numpy.outer([1.0, 2.0], [a, b])
