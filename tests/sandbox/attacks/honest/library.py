# expect: pass
# note: imports that programs are fond of
import argparse
import array
import base64
import bisect
import calendar
import cmath
import collections
import configparser
import contextlib
import csv
import datetime
import difflib
import fractions
import functools
import gzip
import hashlib
import heapq
import html
import inspect
import io
import itertools
import json
import locale
import logging
import lzma
import math
import numbers
import operator
import os
import pathlib
import platform
import pprint
import random
import re
import secrets
import shlex
import statistics
import string
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import timeit
import traceback
import typing
import unicodedata
import unittest
import urllib.parse
import uuid
import warnings
import weakref
import xml.etree.ElementTree
import zipfile
import zlib
import zoneinfo


def add(a, b):
    warnings.warn("this goes to stderr")
    logging.warning("and this")
    heap = [b, a]
    heapq.heapify(heap)
    text = json.dumps({"parts": sorted(heap)})
    parts = json.loads(gzip.decompress(gzip.compress(text.encode())))["parts"]
    uuid.uuid4(), secrets.token_hex(8), os.urandom(8), platform.python_version(), os.getpid(), time.time()
    datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")).isoformat()
    hashlib.sha256(text.encode()).hexdigest(), hashlib.blake2b(b"x").digest()
    xml.etree.ElementTree.fromstring("<a><b/></a>")
    csv.writer(io.StringIO()).writerow(parts)
    with contextlib.redirect_stdout(io.StringIO()) as kept:
        print(*parts)
    assert re.fullmatch(r"(\d+) (\d+)\n", kept.getvalue())
    assert list(itertools.accumulate(parts))[-1] == sum(map(int, kept.getvalue().split()))
    assert pathlib.PurePath("a") / "b" == pathlib.PurePath("a/b")
    random.shuffle(parts)
    return int(statistics.fsum(parts)) if hasattr(statistics, "fsum") else int(math.fsum(parts))
