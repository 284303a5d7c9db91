# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Install lsiq_ros as an ament_python package or with plain pip."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

package_name = 'lsiq_ros'


def tree(folder):
    """Return the data files below a folder, laid out below share/lsiq_ros as they are here."""
    files = [path for path in Path(folder).rglob('*') if path.is_file()]
    folders = sorted({path.parent for path in files})
    return [
        (f'share/{package_name}/{place}', [str(path) for path in files if path.parent == place])
        for place in folders
    ]


# What a robot needs to run a policy; no torch, no simulator.
DEPLOY = [
    'numpy>=1.24',
    'onnx>=1.16',
    'onnxruntime>=1.17',
    'pyyaml>=6',
    'typer>=0.12',
    'rich>=13',
    'mcap>=1.1',
    'rosbags>=0.10',
]
TRAIN = [
    'torch>=2.4',
    'mujoco>=3.2',
    'gymnasium>=1.0',
    'pydantic>=2.7',
    'safetensors>=0.4',
    'tensorboard>=2.16',
    'matplotlib>=3.8',
    'imageio>=2.34',
    'imageio-ffmpeg>=0.5',
]

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=['lsiq_core*', 'lsiq_ros*', 'sim*']),
    package_data={
        'lsiq_core': ['configs/*.yaml', 'py.typed'],
        'sim': ['**/*.json', '**/*.yaml'],
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        (f'share/{package_name}/launch', glob('launch/*.launch.py')),
        *tree('config'),
        *tree('models'),
    ],
    python_requires='>=3.10',
    install_requires=['setuptools', *DEPLOY],
    extras_require={
        'deploy': [],
        'train': TRAIN,
        'minari': ['minari[hdf5]>=0.5'],
        'test': [
            'pytest>=8',
            'pytest-xdist>=3',
            'hypothesis>=6',
            'ruff>=0.8',
            'mypy>=1.13',
            'types-PyYAML',
            'minari[hdf5]>=0.5',
        ],
        'ros-jazzy': [
            'ros-jazzy-rclpy[fastrtps]',
            *(
                f'ros-jazzy-{name}-msgs'
                for name in (
                    'std',
                    'sensor',
                    'geometry',
                    'nav',
                    'diagnostic',
                    'rosgraph',
                    'lifecycle',
                )
            ),
            'ros-jazzy-std-srvs',
            'ros-jazzy-rcl-interfaces',
            'ros-jazzy-domain-coordinator',
        ],
    },
    zip_safe=False,
    maintainer='The lsiq_ros Authors',
    maintainer_email='maintainers@lsiq-ros.example.org',
    description='Learn a torque policy from recorded states with LS-IQ and deploy it on a robot',
    license='MIT',
    entry_points={
        'console_scripts': [
            'lsiq = lsiq_ros.cli.main:main',
        ],
    },
)
