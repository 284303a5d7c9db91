# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Find the files that come with the package: configs, models, launch files."""

from pathlib import Path
import sysconfig

from lsiq_core.errors import ConfigError

PACKAGE = 'lsiq_ros'


def roots() -> list[Path]:
    """Return where files of the package may lie: the checkout this runs from comes first."""
    places = [Path(__file__).resolve().parent.parent]
    try:
        from ament_index_python.packages import get_package_share_directory

        places.append(Path(get_package_share_directory(PACKAGE)))
    except (ImportError, LookupError, OSError):
        pass  # not installed with colcon
    places.append(Path(sysconfig.get_path('data')) / 'share' / PACKAGE)  # installed with pip
    return places


def shipped(relative: str) -> Path:
    """
    Return a shipped file, of the checkout this runs from or else of the installation.

    :param relative: its path below the package's share directory.
    """
    for root in roots():
        if (root / relative).exists():
            return root / relative
    raise ConfigError(f'{relative} is in none of {[str(root) for root in roots()]}')


def find_file(name: str) -> Path:
    """Return a file of the user, or else the shipped one of that name."""
    try:
        path = Path(name).expanduser()
        if path.exists():
            return path
        for root in () if path.is_absolute() else roots():
            if (root / path).exists():
                return root / path
    except (OSError, RuntimeError, ValueError) as error:  # too long, nobody's home, a zero byte
        raise ConfigError(f'{name[:99]!r} can be no file here: {error}') from error
    searched = [path.parent] if path.is_absolute() else [Path.cwd(), *roots()]
    raise ConfigError(f'{name}: no such file in ' + ', nor in '.join(map(str, searched)))
