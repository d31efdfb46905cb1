// The repository's tests.
