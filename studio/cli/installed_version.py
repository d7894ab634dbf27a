"""`installed_version`: what `penstock --version` prints."""


def installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely asked for

    from ...operators.machines.native_readers import native_readers  # noqa: PLC0415 - as above

    try:
        number = version("penstock")
    except PackageNotFoundError:
        number = "from a checkout that is not installed"
    return f"{number}, readers in {'Python' if native_readers() is None else 'C'}"
