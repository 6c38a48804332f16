"""The REST API of the OpenID Foundation's conformance suite."""
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

# Seconds between two looks at a module.
PAUSE = 1


class Suite:
    """A suite that is running."""

    def __init__(self, url, insecure):
        self.url = url.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if token := os.environ.get("CONFORMANCE_TOKEN"):
            self.headers["Authorization"] = f"Bearer {token}"
        self.tls = ssl.create_default_context()
        if insecure:
            self.tls.check_hostname = False
            self.tls.verify_mode = ssl.CERT_NONE

    def call(self, method, path, parameters=None, body=None):
        """The JSON of an answer; None if it has none."""
        query = urllib.parse.urlencode({name: own for name, own in (parameters or {}).items() if own is not None})
        url = f"{self.url}/api/{path}" + (f"?{query}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=self.headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            told = error.read().decode(errors="replace")[:500]
            raise RuntimeError(f"{method} {path}: {error.code} {told}") from error
        return json.loads(text) if text else None

    def create_plan(self, name, variant, configuration):
        """A new plan: its id and its modules."""
        return self.call("POST", "plan", {"planName": name, "variant": json.dumps(variant)}, configuration)

    def create_test(self, plan, test, variant):
        """The id of a new instance of a module of a plan."""
        variant = json.dumps(variant) if variant else None
        return self.call("POST", "runner", {"test": test, "plan": plan, "variant": variant})["id"]

    def start(self, instance):
        self.call("POST", f"runner/{instance}")

    def stop(self, instance):
        self.call("DELETE", f"runner/{instance}")

    def wait(self, instance, states, seconds):
        """What is known of a module, once it is in one of these states or the time is up."""
        end = time.monotonic() + seconds
        while True:
            info = self.call("GET", f"info/{instance}")
            if info["status"] in states or time.monotonic() > end:
                return info
            time.sleep(PAUSE)
