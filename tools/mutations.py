"""One-line faults (sign, denominator, side of a clip, order of a KL, off by one) and the test that catches each."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """`old`, which stands once in the file, becomes `new`; `test` fails."""

    file: str  # under src/groupwise
    old: str
    new: str
    test: str  # under tests


def _of(file: str, *mutations: tuple[str, str, str], test: str) -> list[Mutation]:
    """Mutations of one file; a test that starts with `::` is one of the file `test`."""
    return [Mutation(file, old, new, test + name if name.startswith("::") else name) for old, new, name in mutations]


FUNCTIONAL = [
    *_of(
        "functional/divergences.py",
        ("return logp - logp_ref\n", "return logp_ref - logp\n", "::test_by_hand"),
        ("** 2 / 2", "** 2", "::test_by_hand"),
        ("torch.expm1(-near) + d", "torch.expm1(near) + d", "::test_by_hand"),
        ("torch.expm1(-near) + d", "torch.expm1(-near) - d", "::test_bias_of_the_value"),
        ("torch.relu(-LOG_RATIO_LIMIT - d)", "(near - d)", "::test_gradients_are_exact_to_rounding"),
        ("torch.relu(-LOG_RATIO_LIMIT - d)", "0", "::test_k3_far_below_the_reference_is_finite_and_pulls_back"),
        ("log_probs - log_probs_ref", "log_probs_ref - log_probs", "::test_exact_against_a_loop"),
        ("p > 0", "p >= 0", "::test_a_token_of_probability_zero_adds_nothing_to_the_exact_divergence"),
        test="functional/test_divergences.py",
    ),
    *_of(
        "functional/groups.py",
        ("group_size(score, group) - ddof", "group_size(score, group)", "::test_std_by_hand"),
        ("torch.where(value.isnan(), -torch.inf, value)", "value", "::test_sums_and_means_by_hand"),
        (
            "group_max(score, group) > -group_max",
            "group_max(score, group) >= -group_max",
            "::test_signal_is_by_equality",
        ),
        ("score[left] > score[right]", "score[left] >= score[right]", "::test_pairs_by_hand"),
        ("score[left] > score[right]", "score[left] < score[right]", "::test_pairs_by_hand"),
        ("(size.cumsum(0) - size)", "size.cumsum(0)", "::test_members_by_hand"),
        ("(size.cumsum(0) - size)", "0 * size.cumsum(0)", "::test_members_by_hand"),
        ("return highest + group_sum", "return group_sum", "::test_logsumexp_against_a_loop"),
        ("score == group_max(score, group)", "score == -group_max(-score, group)", "::test_best_of_group_may_tie"),
        (
            "group) / group_size(score, group)",
            "group) / group_sum(group * 0 + 1, group)",
            "::test_sums_and_means_by_hand",
        ),
        test="functional/test_groups.py",
    ),
    *_of(
        "functional/logprobs.py",
        ("/ mask.sum(-1).clamp(min=1)", "/ mask.shape[-1]", "::test_sums_and_means_by_hand"),
        ("total - alpha * tokens", "total + alpha * tokens", "::test_length_normalisation_by_hand"),
        ("** (1.0 if", "* (1.0 if", "::test_length_normalisation_by_hand"),
        ("near = x > -0.69", "near = x < -0.69", "::test_log1mexp_against_60_digits"),
        ("torch.where(near, -1.0, x)", "x", "::test_log1mexp_has_a_finite_derivative_at_both_ends"),
        test="functional/test_logprobs.py",
    ),
    *_of(
        "functional/returns.py",
        ("amax(-1", "amin(-1", "::test_the_score_stands_on_the_last_counted_token"),
        ("counted.std()", "counted.std(correction=0)", "::test_whiten_by_hand"),
        ("(value - counted.mean())", "value", "::test_whiten_by_hand"),
        (".std().clamp(min=floor)", ".std()", "::test_whiten_by_hand"),
        (
            "weight.flip(-1).cumsum(-1).flip(-1)",
            "weight.cumsum(-1)",
            "::test_a_token_has_the_weights_of_the_steps_that_end_at_it_or_after_it",
        ),
        ("+ gamma * next_value", "- gamma * next_value", "::test_gae_by_hand"),
        ("gamma * next_value", "next_value", "::test_gae_against_the_closed_form_with_holes_in_the_mask"),
        (
            "gamma * lam * next_advantage",
            "lam * next_advantage",
            "::test_gae_against_the_closed_form_with_holes_in_the_mask",
        ),
        ("gamma * lam * next_advantage", "gamma * next_advantage", "::test_gae_by_hand"),
        ("mask, advantage + value, 0.0", "mask, advantage - value, 0.0", "::test_gae_by_hand"),
        ("counted, value[:, t], next_value", "counted, next_value, value[:, t]", "::test_gae_by_hand"),
        test="functional/test_returns.py",
    ),
    *_of(
        "functional/surrogates.py",
        ("(logp - anchor).clamp(", "(anchor - logp).clamp(", "::test_the_ratio_is_capped_and_finite"),
        ("return weight * logp", "return -weight * logp", "::test_log_prob_is_the_weight_times_logp"),
        ("clamp(1 - low, 1 + high)", "clamp(1 - high, 1 + low)", "::test_clipped_against_a_loop"),
        ("clamp(1 - low, 1 + high)", "clamp(1 - low, 1 - low + high)", "::test_clipped_against_a_loop"),
        ("torch.minimum(free, bound)", "torch.maximum(free, bound)", "::test_where_the_clip_takes_the_gradient"),
        ("bound < free", "bound > free", "::test_where_the_clip_takes_the_gradient"),
        ("weight < 0, dual * weight", "weight > 0, dual * weight", "::test_clipped_against_a_loop"),
        ("torch.maximum(term, lowest)", "torch.minimum(term, lowest)", "::test_clipped_against_a_loop"),
        (
            "sequence_mean(logp - anchor, mask)",
            "(logp - anchor).mean(-1)",
            "::test_sequence_ratio_is_the_geometric_mean_of_the_tokens_ratios",
        ),
        (
            "sequence_mean(logp - anchor, mask)",
            "sequence_mean(anchor - logp, mask)",
            "::test_sequence_ratio_is_capped_and_finite",
        ),
        ("ratio(logp, anchor).detach()", "ratio(logp, anchor)", "::test_capped_keeps_every_tokens_gradient"),
        ("clamp(max=cap)", "clamp(min=cap)", "::test_capped_keeps_every_tokens_gradient"),
        ("* logp, rho > cap", "* logp, rho < cap", "::test_capped_keeps_every_tokens_gradient"),
        test="functional/test_surrogates.py",
    ),
    *_of(
        "functional/weights.py",
        (
            "where(has_signal(score, group) & judged(score)",
            "where(judged(score)",
            "::test_equal_scores_give_exactly_zero_for_every_size",
        ),
        ("(score - group_mean(score, group)) / std", "score / std", "::test_by_hand"),
        ("group_std(score, group, ddof=ddof)", "group_std(score, group, ddof=0)", "::test_by_hand"),
        ("ddof=ddof).clamp(min=floor)", "ddof=ddof)", "::test_scores_that_differ_by_rounding_stay_small"),
        ("whole_step = torch.zeros_like(group)", "whole_step = group", "::test_batch_standardized_against_a_loop"),
        (
            "where(judged(score), deviation, torch.nan)",
            "where(judged(score), deviation, 0)",
            "::test_batch_standardized_against_a_loop",
        ),
        ("size / (size - 1).clamp(min=1)", "(size - 1) / size.clamp(min=1)", "::test_by_hand"),
        ("group_mean(place, run.cumsum(0))", "place", "::test_tied_ranks_are_averaged"),
        ("group_std(rank, group, ddof=0)", "group_std(rank, group, ddof=1)", "::test_by_hand"),
        ("/ temperature).nan_to_num", "* temperature).nan_to_num", "::test_softmax_against_a_loop"),
        (
            "(score - group_max(score, group)) / temperature",
            "score / temperature",
            "::test_softmax_of_large_scores_is_finite",
        ),
        test="functional/test_weights.py",
    ),
    *_of(
        "functional/weights.py",
        ("rest = -rho / (size - best)", "rest = rho / (size - best)", "::test_top_k_by_hand"),
        ("-rho / (size - best).clamp(min=1)", "-rho / size", "::test_top_k_by_hand"),
        ("(best - lowest)", "(best - lowest - 1)", "::test_top_k_by_hand"),
        ("among / best.clamp(min=1)", "among / k", "::test_top_k_by_hand"),
        ("rest) / ties.clamp(min=1)", "rest)", "::test_top_k_by_hand"),
        ("strength[worse] - strength[better]", "strength[better] - strength[worse]", "::test_pairwise_against_a_loop"),
        ("index_add(0, worse, -push)", "index_add(0, worse, push)", "::test_pairwise_against_a_loop"),
        ("push = beta * torch.sigmoid", "push = torch.sigmoid", "::test_pairwise_against_a_loop"),
        ("-chance.flatten()", "chance.flatten()", "::test_plackett_luce_is_the_gradient_of_its_likelihood"),
        ("beta * weight, score", "weight, score", "::test_plackett_luce_is_the_gradient_of_its_likelihood"),
        ("score[rows] <= score[:, None]", "score[rows] >= score[:, None]", "::test_ties_are_breslows"),
        ("[0] < top", "[0] <= top", "::test_plackett_luce_log_likelihood_against_a_loop"),
        (
            "score > -group_max(-score",
            "score >= -group_max(-score",
            "::test_plackett_luce_log_likelihood_against_a_loop",
        ),
        ("torch.finfo(strength.dtype).min / 4", "-torch.inf", "::test_plackett_luce_is_the_gradient_of_its_likelihood"),
        ("torch.where(judged(score), strength, -torch.inf)", "strength", "::test_listwise_is_the_policys_own_softmax"),
        test="functional/test_listwise_weights.py",
    ),
]

MUTATIONS = FUNCTIONAL
