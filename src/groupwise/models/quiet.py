"""Libraries say less: our own messages are what a user reads."""


def quiet_libraries() -> None:
    """No progress bars and no warnings of transformers, whose own loading is checked by ours."""
    import warnings

    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # not ours to act on
