"""A time-stamp authority on this machine: openssl's, with a root of its own."""

import shutil
import subprocess

OPENSSL = shutil.which("openssl")
RULES = """
[tsa]
default_tsa = here
[here]
serial = {folder}/serial
signer_cert = {folder}/signer.pem
signer_key = {folder}/signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = {digests}
[stamping]
extendedKeyUsage = critical,timeStamping
[signing]
extendedKeyUsage = critical,codeSigning
"""


def call(*words, **more):
    return subprocess.run([OPENSSL, *map(str, words)], check=True, capture_output=True, **more)


class Authority:
    """A root, a signer that it vouches for, and what signs queries."""

    def __init__(self, folder, usage="stamping", digests="sha256,sha512"):
        self.folder = folder
        folder.mkdir()
        self.rules = folder / "rules.cnf"
        self.rules.write_text(RULES.format(folder=folder, digests=digests))
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        root = ("-keyout", folder / "root.key", "-out", folder / "root.pem")
        call("req", "-x509", *key, *root, "-subj", "/CN=Root", "-days", "2")
        signer = ("-keyout", folder / "signer.key", "-out", folder / "signer.csr")
        call("req", *key, *signer, "-subj", "/CN=Clock")
        vouched = ("-CA", folder / "root.pem", "-CAkey", folder / "root.key", "-CAcreateserial")
        what = ("-extfile", self.rules, "-extensions", usage, "-days", "1")
        call("x509", "-req", "-in", folder / "signer.csr", *vouched, *what,
             "-out", folder / "signer.pem")  # fmt: skip

    @property
    def root(self):
        return (self.folder / "root.pem").read_bytes()

    def stamp(self, query):
        asked, given = self.folder / "query.tsq", self.folder / "reply.tsr"
        asked.write_bytes(query)
        call("ts", "-reply", "-queryfile", asked, "-config", self.rules, "-out", given)
        return given.read_bytes()
