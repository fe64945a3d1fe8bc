"""How records become ciphertexts: hashed sets as tables of numbers, where those stand, and parcels."""
