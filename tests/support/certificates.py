"""A certificate for a server of tests on this machine."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

import pytest


def certificate(folder: Path) -> Path:
    """Make a key and a certificate of 127.0.0.1 that it signs itself."""
    x509, hashes, serialization, ec = (
        pytest.importorskip(f"cryptography.{name}", reason="needs cryptography, which google-genai brings")
        for name in (
            "x509",
            "hazmat.primitives.hashes",
            "hazmat.primitives.serialization",
            "hazmat.primitives.asymmetric.ec",
        )
    )
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, *form) + signed.public_bytes(pem))
    return path
