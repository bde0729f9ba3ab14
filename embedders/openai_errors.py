"""OpenAI's errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tiered_memory.errors import EmbedderUnavailable, EmbeddingError, EmbeddingRateLimited

_ADVICE = {
    400: "check the model's name, whether it accepts dimensions, and max_tokens",
    401: "check the API key",
    403: "the API key may not use this model",
    404: "check the model's name and base_url",
    413: "lower max_batch or max_batch_tokens",
    422: "check the model's name, whether it accepts dimensions, and max_tokens",
}


@contextmanager
def provider_errors(source: str) -> Iterator[None]:
    """Turns the client's errors into ours, without their messages: these may quote the texts."""
    import openai

    try:
        yield
    except openai.RateLimitError as error:
        raise EmbeddingRateLimited(f"{source} answered with status 429; {_rate_advice(error.code)}") from None
    except openai.APIStatusError as error:
        status = error.status_code
        kind = EmbedderUnavailable if _may_pass(status) else EmbeddingError
        raise kind(f"{source} answered with status {status}; {_advice(status)}") from None
    except openai.APITimeoutError:
        raise EmbedderUnavailable(f"{source} didn't answer in time; raise timeout or lower max_batch") from None
    except openai.APIConnectionError:
        raise EmbedderUnavailable(f"{source} can't be reached; check base_url and the network") from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        raise EmbeddingError(
            f"{source} answered with something that isn't a list of embeddings ({type(error).__name__})"
        ) from None


def _may_pass(status: int) -> bool:
    """Whether the same request may succeed later: after a time-out, or a fault of the provider."""
    return status == 408 or status >= 500


def _advice(status: int) -> str:
    if _may_pass(status):
        return "the provider has a fault; try again later"
    return _ADVICE.get(status, "the provider refuses such a request")


def _rate_advice(code: str | None) -> str:
    if code == "insufficient_quota":
        return "the account's quota is used up; check its plan and billing"
    return "send less at a time, or raise max_retries"
