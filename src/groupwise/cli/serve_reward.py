"""`groupwise serve-reward MODEL [--port 8765]`."""

import argparse
from collections.abc import Sequence

from groupwise.cli.show import say
from groupwise.models.quiet import quiet_libraries
from groupwise.rewards.model import Model
from groupwise.rewards.served import score_server


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("model", help="a reward model's folder, such as RUN/model, or a hub id")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=int, default=8765, help="0: any that is free")
    parser.add_argument("--dtype", default="float32", help="what it computes in: float32, bfloat16 or float64")
    parser.add_argument("--max-tokens", type=int, default=16384, help="tokens of texts scored at once")


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Score what is sent, until it is stopped."""
    quiet_libraries()
    model = Model(path=options.model, dtype=options.dtype, max_tokens=options.max_tokens)
    model.load()
    with score_server(model, name=options.model, host=options.host, port=options.port) as server:
        say(f"{options.model} scores at http://{options.host}:{server.server_port}, until ^C")
        say("in a recipe:  reward: {name: model, settings: {url: ...}}")
        server.serve_forever()
    return 0
