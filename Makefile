# Every target sets up what it needs; on a fresh machine start with `make demo` or `make test`.
PYTHON ?= python3
SHELL := /bin/sh
py := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint type golden bench soak docs

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' Makefile | grep -v -E '^(help|setup):' | sed -E 's/^([a-z]+):.*## (.*)/  \1|\2/' | awk -F'|' '{printf "%-10s %s\n", $$1, $$2}'

setup: ## Make .venv and install what development needs (every other target does this by itself)
	@PYTHON='$(PYTHON)' sh tools/setup.sh

demo: setup ## Train a small model with torch on several nodes of this machine
	@$(py) -m tools.demo

test: setup ## Format, lint, types, contracts and the whole test suite
	@sh tools/debian.sh tests/debian-packages.txt
	@sh tools/docker.sh .venv/docker
	@$(py) -m tools.check format lint types contracts tests

lint: setup ## Format, lint and the import contracts
	@$(py) -m tools.check format lint contracts

type: setup ## Strict types
	@$(py) -m tools.check types

golden: setup ## Rewrite golden files, generated documents and CRDs from the code; read the diff before you commit
	@$(py) -m tools.generate
	@$(py) -m pytest -q -n 2 --update-golden

bench: setup ## Measure, beside a baseline from the same run
	@$(py) -m bench

soak: setup ## Look for rare faults: many random cases, for at most half an hour
	@$(py) -m tools.soak

docs: setup ## Rewrite the generated documents and the output of commands shown, then test all documents
	@$(py) -m tools.generate
	@$(py) -m pytest -q tests/docs
