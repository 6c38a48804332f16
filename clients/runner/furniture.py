"""The clients and the user that every suite finds."""

from .admin import Admin

REDIRECT_URI = "https://rp.example/callback"
POST_LOGOUT_REDIRECT_URI = "https://rp.example/signed-out"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"

USER = {
    "email": "alice@example.com",
    "email_verified": True,
    "name": "Alice Adams",
    "given_name": "Alice",
    "password": "correct horse battery staple",
}

# What tells the clients apart; the rest is the same for all.
CLIENTS = {
    # A web application: confidential, and people are asked for their consent.
    "web": {"grant_types": ["authorization_code", "refresh_token"]},
    # A page in a browser: public.
    "spa": {"token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"]},
    # A back-end: acts for itself, and exchanges the tokens of `web`.
    "service": {"grant_types": ["client_credentials", EXCHANGE], "token_exchange_allowed": True, "redirect_uris": []},
}


def furnish(admin: Admin) -> dict:
    """Makes everything, and answers with what the suites must know of it."""
    user = admin.post("/users", USER)["user"]
    clients = {}
    for name, own in CLIENTS.items():
        body = {
            "client_name": f"Suite {name}",
            "redirect_uris": [REDIRECT_URI],
            "post_logout_redirect_uris": [POST_LOGOUT_REDIRECT_URI],
            "scope": "openid profile email offline_access",
            **own,
        }
        if name == "service":
            body["allowed_subject_token_clients"] = [clients["web"]["client_id"]]
            body["scope"] = "openid profile email read write"
        clients[name] = admin.post("/clients", body)["client"]
    return {
        "redirect_uri": REDIRECT_URI,
        "post_logout_redirect_uri": POST_LOGOUT_REDIRECT_URI,
        "user": {**USER, "id": user["id"]},
        "clients": clients,
    }
