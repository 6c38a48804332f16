# `make test` installs what the tests need and runs them; `make run` starts the provider in development mode.

.PHONY: run test lint

run:
	cargo run --release

test:
	./scripts/test

lint:
	./scripts/lint
