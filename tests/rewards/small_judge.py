"""A judge in miniature, as a process of its own: a small Llama served as `/v1/chat/completions` by LocalEngine.

    python small_judge.py TAUGHT.json     [[messages, reply], ...]

Its weights are random but for the output layer, which is solved for: after each of the taught conversations it gives
the reply taught. That is all it knows. Prints the port that it listens at, and what it replies to the taught.
"""

import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch

SPECIAL = ("<|pad|>", "<|end|>", "<|unknown|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|> {{ m.content }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def make_tokenizer(texts):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()} - set(SPECIAL))
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate([*SPECIAL, *words])}, unk_token="<|unknown|>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"pad_token": SPECIAL[0], "eos_token": SPECIAL[1], "unk_token": SPECIAL[2]}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=TEMPLATE, **names)


def prompt_ids(tokenizer, messages):
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return tuple(tokenizer(text)["input_ids"])


def teach(folder, taught):
    """Solve for the output layer: the hidden states before each token of a reply must point at that token."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer([reply for _, reply in taught] + [m["content"] for said, _ in taught for m in said])
    torch.manual_seed(0)
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.1, **sizes, **ends)).eval()
    states, targets = [], []
    with torch.inference_mode():
        for said, reply in taught:
            prompt, answer = prompt_ids(tokenizer, said), tokenizer(f"{reply} <|end|>")["input_ids"]
            hidden = model.model(torch.tensor([[*prompt, *answer]])).last_hidden_state[0]
            states.append(hidden[len(prompt) - 1 : -1].double())
            targets += answer
    wanted = torch.zeros(len(targets), len(tokenizer), dtype=torch.float64)
    wanted[range(len(targets)), targets] = 20.0
    weight = torch.linalg.lstsq(torch.cat(states), wanted, driver="gelsd").solution.T
    with torch.no_grad():
        model.lm_head.weight.copy_(weight)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class Speaker:
    """Replies to messages, one conversation at a time."""

    def __init__(self, folder):
        from groupwise.engines.local import LocalEngine
        from groupwise.models.policy import Policy

        self.engine, self.lock = LocalEngine(Policy.load(folder)), threading.Lock()

    def reply(self, asked):
        from groupwise.engines.sampling import Sampling

        sampling = Sampling(k=1, max_new_tokens=asked["max_tokens"], temperature=asked["temperature"])
        with self.lock:
            prompt = prompt_ids(self.engine.policy.tokenizer, asked["messages"])
            ((said,),) = self.engine.generate([prompt], sampling, seeds=[asked.get("seed", 0)])
        tokens = {"prompt_tokens": len(prompt), "completion_tokens": len(said.token_ids)}
        message = {"role": "assistant", "content": said.text}
        return {
            "object": "chat.completion",
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": said.finish_reason}],
            "usage": {**tokens, "total_tokens": sum(tokens.values())},
        }


def handler(speaker):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(speaker.reply(asked)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


if __name__ == "__main__":
    torch.set_num_threads(1)
    taught = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        teach(folder, taught)
        speaker = Speaker(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(speaker))
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()
