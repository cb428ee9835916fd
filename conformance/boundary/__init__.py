"""The boundary: from bytes that were read to typed values, and from text that was read to what is shown."""
