"""Keys of clients as sets of JWKs, and certificates for them, made by the command `openssl`."""
import base64
import re
import subprocess

# For each algorithm what makes a key, and which number of the key's text is which member of the JWK (RFC 7518 6).
EC = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
NUMBERS = {
    "n": "modulus", "d": "privateExponent", "p": "prime1", "q": "prime2", "dp": "exponent1", "dq": "exponent2",
    "qi": "coefficient",
}
PRIVATE = {"d", "p", "q", "dp", "dq", "qi"}


def run(arguments, given=None):
    return subprocess.run(["openssl", *arguments], input=given, capture_output=True, check=True, text=True).stdout


def encoded(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def octets_of(text, name):
    """The octets below a name, which openssl writes as pairs of digits between colons."""
    found = re.search(rf"^{name}:\s*\n((?:\s+[0-9a-f:]+\n)+)", text, re.MULTILINE)
    return bytes.fromhex(re.sub(r"[\s:]", "", found.group(1)))


class Key:
    """A new private key for ES256 or PS256."""

    def __init__(self, algorithm, kid):
        is_ec = algorithm == "ES256"
        self.kid = kid
        self.pem = run(["genpkey", *(EC if is_ec else RSA)])
        text = run(["pkey", "-text", "-noout"], self.pem)
        self.jwk = {"kid": kid, "alg": algorithm, "use": "sig"}
        if is_ec:
            point = octets_of(text, "pub")
            # The private number may be written with a zero before it, or with fewer octets.
            scalar = encoded(octets_of(text, "priv").lstrip(b"\0").rjust(32, b"\0"))
            point = {"x": encoded(point[1:33]), "y": encoded(point[33:])}
            self.jwk |= {"kty": "EC", "crv": "P-256", **point, "d": scalar}
        else:
            numbers = {member: encoded(octets_of(text, name).lstrip(b"\0")) for member, name in NUMBERS.items()}
            self.jwk |= {"kty": "RSA", "e": "AQAB", **numbers}

    def private_set(self):
        return {"keys": [self.jwk]}

    def public_set(self):
        """The set without the private members."""
        return {"keys": [{name: own for name, own in self.jwk.items() if name not in PRIVATE}]}

    def certificate(self):
        """A certificate for the key, signed by itself, as PEM."""
        asked = ["req", "-new", "-x509", "-days", "2", "-subj", f"/CN={self.kid}", "-key", "/dev/stdin"]
        return run(asked, self.pem)
