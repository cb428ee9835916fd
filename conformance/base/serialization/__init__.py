"""Decoding and checking of JSON that the suite reads, and escaping of text that it prints."""
