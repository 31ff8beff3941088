# expect: pass
import sqlite3


def add(a, b):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (x integer)")
    base.executemany("insert into t values (?)", [(a,), (b,)])
    return base.execute("select sum(x) from t").fetchone()[0]
