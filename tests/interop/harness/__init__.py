"""Runs real Kafka, real clients and kmirrord on 127.0.0.1 for the tests.

Every process that starts here ends with the test run; logs of failed tests stay in
build/test-logs/interop.
"""
