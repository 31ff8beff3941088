"""Set before torch is imported: shapes and types are checked in the mathematical core, threads do not spin."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a spinning thread pool starves the other processes of a test
os.environ.setdefault("GOMP_SPINCOUNT", "0")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests run side by side
os.environ["HF_HUB_OFFLINE"] = "1"  # no test may depend on a download
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from jaxtyping import install_import_hook

install_import_hook(
    ["groupwise.functional", "groupwise.candidates", "groupwise.objectives"],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",  # an int is a float, as type checkers say
)
