"""A plugin of pytest that runs every test so many times: `pytest -p repeat`, with REPEAT=1000 in the environment."""

import os


def pytest_generate_tests(metafunc):
    metafunc.fixturenames.append("repetition")
    metafunc.parametrize("repetition", range(int(os.environ.get("REPEAT", "1"))))
