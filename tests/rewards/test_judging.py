"""How `judge` asks: what it does when a server misbehaves, what it spends, remembers, and keeps to itself."""

import pickle
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from shutil import which

import pytest

from groupwise.errors import ConfigError, RewardEndedError, RewardError
from groupwise.rewards import make_judge, score_group
from groupwise.rewards.judge import Judge
from groupwise.rewards.judging.cache import Cache, Reply
from groupwise.rewards.judging.client import _retry_after
from rewards.told_server import Told, drips, ends_early, hangs_up, leaves, resets, says, status

ROW = {"prompt": "Name a colour."}
KEY = "sk-proj-NOT/for+anyone.else"


@pytest.fixture
def told():
    """Makes a server that does as told, and a judge of it; both are closed at the end."""
    made = []

    def make(*script, always=None, context=None, **settings):
        server = Told(*script, always=always, context=context)
        server.__enter__()
        settings = {"url": server.url, "model": "small", "backoff_s": 0.01, "key_env": None, **settings}
        judge = Judge(**settings)
        made.extend([judge.close, lambda: server.__exit__()])
        return server, judge

    yield make
    for close in made:
        close()


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (status(429), "http_429"),
        (status(500), "http_500"),
        (status(503, b"<html>busy</html>"), "http_503"),
        (status(200, b"{nonsense"), "malformed"),
        (status(200, b'{"error": "overloaded"}'), "malformed"),
        (status(200, b'{"choices": []}'), "malformed"),
        (status(200, b"[" * 100_000), "malformed"),
        (resets, "connection"),
        (ends_early, "connection"),
        (drips("score: 10"), "timeout"),
    ],
)
def test_what_may_pass_is_asked_again_and_else_is_unjudged_and_counted(told, fault, name):
    timeout = {"timeout_s": 0.5} if name == "timeout" else {}
    server, judge = told(fault, retries=1, **timeout)
    assert judge(ROW, "blue") == 0.5
    assert judge.usage["retries"] == 1
    server.always = fault
    assert judge(ROW, "red") is None
    assert judge.usage[f"unjudged_{name}"] == 1
    assert judge.usage["requests"] == len(server.asked) == 4


def test_retry_after_holds_all_requests(told):
    server, judge = told(status(429, Retry_After="1"), retries=1)
    assert judge(ROW, "blue") == 0.5
    assert server.times[1] - server.times[0] >= 0.95
    server.script = [status(429, Retry_After="100000")]
    assert judge(ROW, "red") is None  # nobody waits a day
    assert judge.usage["requests"] == 3


def test_retry_after_is_seconds_or_a_date():
    assert _retry_after("3") == 3
    assert _retry_after("0.5") == 0.5
    assert 50 < _retry_after(format_datetime(datetime.now(UTC) + timedelta(minutes=1), usegmt=True)) <= 60
    assert _retry_after(format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)) == 0
    assert [_retry_after(value) for value in ("", "soon", "-1", "1.2.3")] == [None] * 4


@pytest.mark.parametrize("code", [401, 402, 403, 404, 405, 302])
def test_what_no_request_can_mend_stops_all(told, code, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    quoting = status(code, f'{{"error": "no such {KEY}"}}'.encode(), Location="http://elsewhere.example/")
    server, judge = told(always=quoting, key_env="MY_KEY")
    with pytest.raises(RewardError, match=rf"got {code} .*{server.url}.*`small`.*MY_KEY") as caught:
        judge(ROW, "blue")
    assert KEY not in str(caught.value)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(RewardError, match=f"got {code}"):
        judge(ROW, "red")
    assert len(server.asked) == 1
    with pytest.raises(RewardEndedError, match=f"reward `Judge` got {code}"):
        score_group(judge, ROW, ["green"])


def test_a_key_that_is_not_set_is_named(told, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    server, judge = told(status(401), key_env="MY_KEY")
    with pytest.raises(RewardError, match="environment variable MY_KEY is not set"):
        judge(ROW, "blue")
    assert "Authorization" not in server.headers[0]


def test_an_empty_account_stops_and_a_busy_server_does_not(told):
    _, judge = told(status(429, b'{"error": {"code": "insufficient_quota"}}'))
    with pytest.raises(RewardError, match="insufficient_quota"):
        judge(ROW, "blue")


def test_a_server_that_was_never_there_stops(told):
    _, judge = told(url="http://127.0.0.1:1", retries=1)
    with pytest.raises(RewardError, match=r"never had an answer from http://127.0.0.1:1/v1/chat.*ConnectionRefused"):
        judge(ROW, "blue")


def test_a_request_that_the_server_refuses(told):
    server, judge = told(
        status(400, b'{"error": "This model\'s maximum context length is 10 tokens"}'),
        status(400, b'{"error": {"code": "content_filter"}}'),
    )
    assert [judge(ROW, text) for text in ("blue", "red", "green")] == [None, None, 0.5]
    assert judge.usage["unjudged_too_long"] == judge.usage["unjudged_filtered"] == 1
    server.always = status(400, b'{"error": "unknown field: temperature"}')
    with pytest.raises(RewardError, match=r"got 400 .*unknown field"):
        judge(ROW, "white")


def test_the_key_is_nowhere(told, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    echo = says(f"your key is {KEY}\nscore: 7")
    server, judge = told(always=echo, key_env="OPENAI_API_KEY", cache=str(tmp_path / "kept"))
    assert judge(ROW, "blue") == 0.7
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    (file,) = (tmp_path / "kept").rglob("*.json")
    places = [repr(judge), repr(vars(judge)), str(judge.usage), file.read_text(), repr(pickle.dumps(judge))]
    assert not [place for place in places if KEY in place]
    assert "your key is ***" in file.read_text()
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds blanks") as caught:
        judge.asker.client.endpoint.key()
    assert "two words" not in str(caught.value)


def test_the_default_key_goes_over_tls_or_to_this_machine_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OTHER", "k")

    def key(url, **settings):
        judge = Judge(url=url, model="m", **settings)
        judge.close()
        return judge.key()

    assert key("https://api.openai.com/v1") == KEY
    assert key("http://localhost:8000") == key("http://127.0.0.1:8000/v1") == key("http://[::1]:8000/v1") == KEY
    assert key("http://node7:8000/v1") == ""
    assert key("http://node7:8000/v1", key_env="OTHER") == "k"
    assert key("https://api.openai.com/v1", key_env=None) == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "localhost:8000"}, "must be like https://"),
        ({"url": "http://host:99999/v1"}, "must be like https://"),
        ({"url": "https://me:secret@host/v1"}, "judge.key_env"),
        ({"url": "https://host/v1?api-key=secret"}, "judge.key_env"),
        ({"key_env": "sk-secret-123"}, "no name of an environment variable"),
        ({"model": ""}, "judge.model is empty"),
        ({"extra": {"messages": []}}, "judge.extra holds `messages`"),
        ({"temperature": -1.0}, "judge.temperature = -1.0, must be 0 or more"),
        ({"retries": -1}, "judge.retries = -1"),
        ({"concurrency": 0}, "judge.concurrency = 0, must be 1"),
        ({"timeout_s": 0}, "judge.timeout_s = 0"),
        ({"rate": "fast"}, "like `5/s` or `300/min`"),
        ({"rate": "0/s"}, "judge.rate"),
        ({"budget": 1.0}, "give judge.price_in and judge.price_out"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(ConfigError, match=said) as caught:
        Judge(**{"url": "http://localhost:8000/v1", "model": "m", **settings})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("https://h/openai/v1", "https://h/openai/v1/chat/completions"),
        ("https://h/x/chat/completions?api-version=1", "https://h/x/chat/completions?api-version=1"),
    ],
)
def test_addresses(url, address):
    assert Judge(url=url, model="m").address == address


def test_requests_and_cost_keep_to_the_budget(told):
    _, judge = told(budget_requests=2)
    assert score_group(judge, ROW, ["blue", "red"])[1].score == 0.5
    with pytest.raises(RewardError, match=r"2 requests that judge.budget_requests allows"):
        judge(ROW, "green")
    assert judge(ROW, "blue") == 0.5  # known
    prices = {"price_in": 1.0, "price_out": 10.0, "max_tokens": 20}
    server, judge = told(budget=0.01, concurrency=8, **prices)
    with pytest.raises(RewardError, match=r"judge.budget = 0.01"):
        score_group(judge, ROW, [f"colour {i}" for i in range(100)])
    judge.close()
    judge.asker._threads.shutdown(wait=True)
    billed = len(server.asked) * (100 + 10 * 10) / 1e6
    assert 0 < billed <= judge.usage["cost"] + 1e-9 <= 0.01


def test_a_budget_below_one_request_sends_none(told):
    server, judge = told(budget=0.0002, price_out=10.0, max_tokens=30)  # the longest reply costs 0.0003
    with pytest.raises(RewardError, match=r"has spent 0 in 0 requests"):
        judge(ROW, "blue")
    assert not server.asked


def test_a_reply_that_is_none_may_have_been_billed_and_a_refusal_was_not(told):
    _, judge = told(status(200, b"?"), status(500), status(503), price_out=10.0, max_tokens=20)
    assert judge(ROW, "blue") == 0.5
    assert judge.usage["cost"] == pytest.approx((20 + 10) * 10 / 1e6)


def test_a_server_that_tells_no_tokens_costs_the_most(told):
    server, judge = told(always=says("score: 5", tokens=None), price_out=10.0, max_tokens=20)
    assert judge(ROW, "blue") == 0.5
    assert judge.usage["cost"] == pytest.approx(20 * 10 / 1e6)
    assert server.asked[0]["max_tokens"] == 20
    server.script = [drips("score: 5")]  # lost, but perhaps billed
    impatient = Judge(
        url=server.url, model="m", key_env=None, price_out=10.0, max_tokens=20, timeout_s=0.3, retries=1, backoff_s=0
    )
    assert impatient(ROW, "red") == 0.5
    impatient.close()
    assert impatient.usage["cost"] == pytest.approx(2 * 20 * 10 / 1e6)


def test_what_is_sent(told):
    server, judge = told(extra={"max_completion_tokens": 30, "seed": 4}, temperature=None)
    assert judge(ROW, "bl\ud800ue") == 0.5
    (asked,) = server.asked
    assert set(asked) == {"model", "messages", "max_completion_tokens", "seed"}
    assert (asked["model"], [turn["role"] for turn in asked["messages"]]) == ("small", ["user"])
    assert "bl?ue" in asked["messages"][0]["content"]
    assert server.paths == ["/v1/chat/completions"]


def test_so_many_at_a_time_over_as_many_connections(told):
    both = threading.Barrier(2, timeout=20)

    def together(handler, asked):
        both.wait()  # breaks unless two are underway
        says("score: 5")(handler, asked)

    server, judge = told(always=together, concurrency=2)
    assert [judged.score for judged in score_group(judge, ROW, [str(i) for i in range(10)])] == [0.5] * 10
    assert server.most == 2
    assert len(server.peers) == 2


def test_a_rate_spreads_requests(told):
    server, judge = told(rate="20/s", concurrency=5)
    score_group(judge, ROW, [str(i) for i in range(5)])
    assert max(server.times) - min(server.times) >= 0.15  # four gaps of 50 ms; the network may shorten them


def test_a_kept_connection_that_the_server_closed(told):
    server, judge = told(always=hangs_up, retries=0)
    for text in ("blue", "red", "green"):
        assert judge(ROW, text) == 0.5
    assert len(server.peers) == 3


def test_a_kept_connection_that_closes_as_it_is_used(told):
    server, judge = told(says("score: 1"), leaves, says("score: 2"), leaves, leaves, retries=0)
    assert judge(ROW, "blue") == 0.1
    assert judge(ROW, "red") == 0.2  # over a new one
    assert judge(ROW, "green") is None  # that one failed too
    assert judge.usage["unjudged_connection"] == 1
    assert len(server.asked) == 5


def test_replies_are_kept(told, tmp_path):
    folder = tmp_path / "kept"
    server, judge = told(says("well\nscore: 8"), cache=str(folder), temperature=0.7)
    assert (judge(ROW, "blue"), judge(ROW, "blue")) == (0.8, 0.8)
    assert judge.usage["from_cache"] == 1
    again = Judge(url=server.url, model="small", key_env=None, cache=str(folder), temperature=0.7)
    assert again(ROW, "blue") == 0.8  # as after a restart
    again.close()
    assert len(server.asked) == 1
    other = {"model": "other"}, {"temperature": 0.8}, {"max_tokens": 3}, {"extra": {"seed": 1}}
    for n, change in enumerate(other):
        fields = {"url": server.url, "model": "small", "key_env": None, "cache": str(folder), "temperature": 0.7}
        judge = Judge(**{**fields, **change})
        assert judge(ROW, "blue") == 0.5
        judge.close()
        assert len(server.asked) == n + 2
    for file in folder.rglob("*.json"):
        file.write_text('{"content": "sco')
    judge = Judge(**fields)
    assert judge(ROW, "blue") == 0.5
    judge.close()


def test_without_a_cache_only_what_does_not_vary_is_remembered(told):
    server, judge = told(temperature=1.0)
    assert (judge(ROW, "blue"), judge(ROW, "blue")) == (0.5, 0.5)
    assert len(server.asked) == 2
    assert not judge.deterministic


def test_a_reply_without_a_verdict_is_not_kept(told, tmp_path):
    server, judge = told(says("hm"), says(""), cache=str(tmp_path))
    assert judge(ROW, "blue") is None
    assert judge.usage["unparsed"] == 1
    assert [turn["role"] for turn in server.asked[1]["messages"]] == ["user", "assistant", "user"]
    assert judge(ROW, "blue") == 0.5


def test_a_cache_is_written_whole_by_many(tmp_path):
    caches = [Cache(tmp_path) for _ in range(4)]
    replies = {Reply(content=f"{i}" * 50_000, finish_reason="stop", tokens_in=i, tokens_out=i) for i in range(4)}
    caches[0].put("k" * 64, next(iter(replies)))
    seen = []

    def write(cache, reply):
        for _ in range(20):
            cache.put("k" * 64, reply)
            seen.append(Cache(tmp_path).get("k" * 64))

    threads = [threading.Thread(target=write, args=pair) for pair in zip(caches, replies, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80
    assert set(seen) <= replies
    assert [file.suffix for file in tmp_path.rglob("*") if file.is_file()] == [".json"]


def test_a_cache_that_cannot_be_written_stops(told, tmp_path):
    (tmp_path / "file").write_text("")
    _, judge = told(cache=str(tmp_path / "file"))
    with pytest.raises(RewardError, match=r"judge.cache"):
        judge(ROW, "blue")


def test_closing_ends_what_is_underway(told):
    begun, done = threading.Event(), threading.Event()

    def never(handler, asked):
        begun.set()
        done.wait(30)

    _, judge = told(always=never, timeout_s=60, retries=3, backoff_s=50)
    found = []

    def ask():
        try:
            judge(ROW, "blue")
        except RewardError as error:
            found.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(10)
    judge.close()
    thread.join(10)
    done.set()
    assert not thread.is_alive()
    assert found
    with pytest.raises(RewardError, match="closed"):
        judge(ROW, "red")


def test_proxies_of_the_environment(monkeypatch, told):
    with Told() as proxy:
        at = f"http://me:pass%20word@127.0.0.1:{proxy.server_port}"
        monkeypatch.setenv("http_proxy", at)
        monkeypatch.setenv("https_proxy", at)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        _, near = told()
        assert near(ROW, "blue") == 0.5  # this machine is reached without
        assert not proxy.paths
        far = Judge(url="http://judge.example:81/v1", model="m")
        assert far(ROW, "blue") == 0.5
        assert proxy.paths == ["http://judge.example:81/v1/chat/completions"]
        assert proxy.headers[0]["Proxy-Authorization"] == "Basic bWU6cGFzcyB3b3Jk"
        secure = Judge(url="https://judge.example/v1", model="m", retries=0)
        with pytest.raises(RewardError, match="never had an answer") as caught:
            secure(ROW, "blue")
        assert "word" not in str(caught.value)
        assert proxy.paths[1] == "CONNECT judge.example:443"
        assert "Authorization" not in proxy.headers[1]
        far.close()
        secure.close()
        monkeypatch.setenv("no_proxy", "judge.example")
        monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
        with pytest.raises(ConfigError, match="must be `http`"):
            Judge(url="http://another.example/v1", model="m")


@pytest.mark.skipif(not which("openssl"), reason="makes a certificate with openssl")
def test_a_server_must_be_the_one_it_says(monkeypatch, told, tmp_path):
    certificate = tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=judge", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key.pem"),
         "-out", str(certificate)], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")
    server, judge = told(context=context)
    with pytest.raises(RewardError, match=r"cannot trust https://127.0.0.1.*SSL_CERT_FILE"):
        judge(ROW, "blue")
    assert not server.asked
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusting = Judge(url=server.url, model="m", key_env=None)
    assert trusting(ROW, "blue") == 0.5
    assert trusting(ROW, "red") == 0.5
    assert len(server.peers) == 1
    trusting.close()


def test_a_run_logs_what_was_spent():
    with Told(says("no idea"), says("none")) as server:
        settings = {"url": server.url, "model": "m", "key_env": None, "concurrency": 1, "price_in": 2.0}
        judge = make_judge("judge", settings)
        first = judge.submit(ROW, ["blue", "red", "blue"]).result()
        assert [judged.score for judged in first] == [None, 0.5, None]
        found = judge.measured()
        judge.close()
    wanted = {"requests": 3, "unparsed": 1, "tokens_in": 300, "cost": 0.0006, "retries": 0}
    assert {name: found[f"reward/total_{name}"] for name in wanted} == pytest.approx(wanted)


def test_a_judge_that_can_judge_no_more_ends_a_run_that_tolerates_errors(told):
    server, _ = told(always=status(401))
    settings = {"url": server.url, "model": "small", "key_env": None}
    judge = make_judge("judge", settings, on_error="unjudged")
    try:
        pending = judge.submit(ROW, ["red", "blue"])
        with pytest.raises(RewardEndedError, match=r"reward `Judge` got 401"):
            pending.result()
    finally:
        judge.close()
