"""`installed_version`: what `penstock --version` prints."""


def installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely asked for

    try:
        return version("penstock")
    except PackageNotFoundError:
        return "from a checkout that is not installed"
