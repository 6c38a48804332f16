"""What the tests share: one client, one user, the signing key, and strict introspection on demand."""

import pytest

import scripts


@pytest.fixture(scope="session")
def client() -> scripts.Client:
    """The load-test client."""
    return scripts.create_client()


@pytest.fixture(scope="session")
def user() -> dict:
    """A user without a password."""
    return scripts.create_user()


@pytest.fixture(scope="session")
def signer() -> scripts.Signer:
    """The server's signing key, as the seeds get it."""
    return scripts.Signer()


@pytest.fixture
def strict():
    """Strict introspection, as it is set by hand before the benchmark."""
    body = {"strictValidation": True, "expectedAudience": None}
    answer = scripts.admin("PUT", "/settings/introspection-validation", body)
    assert answer.status == 200, answer.text
    yield
    answer = scripts.admin("DELETE", "/settings/introspection-validation")
    assert answer.status < 300, answer.text
