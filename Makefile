# Two commands do everything: `make train` and `make test`; `make demo` shows a trained policy
# walk over ROS topics and films it. All set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: train demo test test-slow lint format clean

train: $(INSTALLED)
	$(BIN)/lsiq up train_atlas

demo: $(INSTALLED)
	$(BIN)/lsiq demo

test: $(INSTALLED) lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -q -m slow

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# torch comes first and pinned: a looser requirement would pull gigabytes of CUDA.
$(INSTALLED): setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip -c constraints.txt
	$(BIN)/pip install -q -c constraints.txt torch
	$(BIN)/pip install -q -c constraints.txt -e '.[train,test,web,ros-jazzy]'
	touch $@

clean:
	rm -rf $(VENV) build install log *.egg-info
