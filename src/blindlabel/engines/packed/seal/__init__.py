"""The raw layer: rings, keys and ciphertexts of SEAL, and exact arithmetic modulo primes on whole arrays. Knows neither
records nor questions nor parties.
"""
