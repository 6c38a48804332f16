"""Keys of clients as sets of JWKs, made by the command `openssl`."""
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


def private_set(algorithm, kid):
    """A set with one new private key for ES256 or PS256."""
    is_ec = algorithm == "ES256"
    pem = run(["genpkey", *(EC if is_ec else RSA)])
    text = run(["pkey", "-text", "-noout"], pem)
    key = {"kid": kid, "alg": algorithm, "use": "sig"}
    if is_ec:
        point = octets_of(text, "pub")
        # The private number may be written with a zero before it, or with fewer octets.
        scalar = octets_of(text, "priv").lstrip(b"\0").rjust(32, b"\0")
        key |= {"kty": "EC", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:]), "d": encoded(scalar)}
    else:
        numbers = {member: encoded(octets_of(text, name).lstrip(b"\0")) for member, name in NUMBERS.items()}
        key |= {"kty": "RSA", "e": "AQAB", **numbers}
    return {"keys": [key]}


def public_set(private):
    """The set without the private members."""
    return {"keys": [{name: own for name, own in key.items() if name not in PRIVATE} for key in private["keys"]]}
